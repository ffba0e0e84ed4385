"""What plays a role: local language models, and scripts for tests and documentation."""

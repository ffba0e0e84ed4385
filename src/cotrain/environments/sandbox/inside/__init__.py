"""What runs inside the sandbox: standard library only, and nothing of the package around it."""

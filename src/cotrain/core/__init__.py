"""What AT-GRPO is: records and maths. Standard library only, but for torch in `core.loss`."""

"""From credited samples to new weights."""

"""The run folder: rows, events, episodes and checkpoints on disk, and loggers. Imports no torch."""

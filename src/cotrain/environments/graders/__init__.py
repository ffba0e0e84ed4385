"""Graders: pure comparisons of what a team gave with what is right."""

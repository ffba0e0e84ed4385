"""Training and evaluation of a team, and what they save. Talks to protocols only."""

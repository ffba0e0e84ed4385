"""Playing episodes: the tree of AT-GRPO, whole episodes, and evaluation, in waves."""

"""Comparisons: rows of trained and played teams, seeds, claims, and what the figures say of them.

    comparison (TOML) -> cells (a row and a seed) -> run folders -> table, compare.json, plot

Every cell is a command of its own, whose run folder can be opened by itself.
"""

"""Where the rows of a live run are shown, beside its folder."""

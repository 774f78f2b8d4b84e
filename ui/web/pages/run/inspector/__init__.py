"""The inspector: one step in full, and the notes on it."""

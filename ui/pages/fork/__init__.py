"""Forking a run: what changes, what it may cost, variants side by side, and the family tree."""

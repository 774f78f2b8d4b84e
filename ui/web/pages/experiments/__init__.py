"""Experiments: the list, a new one, one while it runs, and its answer."""

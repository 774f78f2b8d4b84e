"""A group of forks side by side."""

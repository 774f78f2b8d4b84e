"""Servers that tests start, and their certificates."""

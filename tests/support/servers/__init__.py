"""Servers that tests start, and the certificates that they show."""

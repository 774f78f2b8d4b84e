"""Experiments whose processes are killed, at any moment and any write."""

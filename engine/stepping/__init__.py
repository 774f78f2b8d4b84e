"""Stepping: what is held of a run, where it stops, and how it goes on a step at a time."""

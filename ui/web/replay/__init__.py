"""Recorded steps: read once, marked, indexed, and followed while a run continues."""

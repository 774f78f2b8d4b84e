"""Past steps of a run: read once, marked, moved through, and followed while there are more."""

"""Recorded runs as cases: what answers them, and a run as a test."""

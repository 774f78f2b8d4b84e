"""Recorded runs as cases: answered again, kept in files, and checked."""

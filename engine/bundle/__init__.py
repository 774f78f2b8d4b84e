"""Bundles: whole runs in one file of JSON lines, which another Hemicycle takes in with nothing lost."""

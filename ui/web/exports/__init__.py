"""Runs as files: an offline page, a bundle, a transcript or a test; and importing bundles."""

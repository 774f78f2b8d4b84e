"""Tabs of the run page: files, artifacts, messages, supervision and phases."""

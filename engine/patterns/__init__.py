"""Patterns of workflows: one file, one pattern."""

"""Runs agents' commands and tests in a sandbox, within limits."""

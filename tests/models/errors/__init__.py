"""Errors of model providers, and their messages."""

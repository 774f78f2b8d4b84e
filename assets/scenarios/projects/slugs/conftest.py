"""Puts the project itself on the path of the tests."""

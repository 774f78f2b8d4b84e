"""Puts the project root on the import path of the tests."""

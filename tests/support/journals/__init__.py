"""Journals for tests: a slow one, and a server of PostgreSQL."""

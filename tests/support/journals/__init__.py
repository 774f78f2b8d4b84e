"""Journals for tests: a slow one, a damaged one, and a PostgreSQL server."""

"""Benchmarks of a durable step, on SQLite and on PostgreSQL, against bare inserts of the same rows."""

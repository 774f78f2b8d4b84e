"""Benchmarks of a durable step, on SQLite and on PostgreSQL, beside bare inserts of the same rows."""

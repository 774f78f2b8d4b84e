"""Benchmarks of a fleet: PostgreSQL, Temporal, workers and a web server, each in processes of its own."""

"""Benchmarks: `python -m tests.bench` prints each limit of time and space, and whether it holds."""

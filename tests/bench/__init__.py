"""Benchmarks: `python -m tests.bench` prints times and sizes, and whether each target is met."""

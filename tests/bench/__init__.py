"""Benchmarks: `python -m tests.bench` prints what the bars of speed and room say, and whether they hold."""

"""Forks of runs: overrides, replay from the record, cost estimates, and regression tests."""

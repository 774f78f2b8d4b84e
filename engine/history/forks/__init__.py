"""Forks of runs: with changes, replayed from the record, with cost estimates, and as regression tests."""

"""Forks of runs: overrides, replay from the record, and cost estimates."""

"""Forks of runs: with something changed, played from what was recorded, foretold, run again."""

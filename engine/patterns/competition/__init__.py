"""Contests between agents on one task: candidates, their tests, ranking, picking and merging."""

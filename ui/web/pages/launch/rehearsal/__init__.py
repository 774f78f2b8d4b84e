"""Rehearsal on the launch page: what the next run costs at most, and what its chart can do."""

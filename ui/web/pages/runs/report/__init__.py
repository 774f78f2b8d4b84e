"""The final report of a run."""

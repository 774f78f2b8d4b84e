"""The list of runs: filters, rows, selection, and what can be done with a run."""

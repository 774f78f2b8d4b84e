"""The list of runs: filters, rows, what can be done with them, and taking it back."""

"""Lists of runs: filters, rows, actions and undo."""

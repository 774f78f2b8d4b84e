"""Files that all machines of a fleet reach."""

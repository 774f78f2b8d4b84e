"""Files that all machines of a fleet can access."""

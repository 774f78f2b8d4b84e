"""The inbox: what waits for a person, over all runs."""

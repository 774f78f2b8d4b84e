"""The inbox: questions of all runs that wait for a person."""

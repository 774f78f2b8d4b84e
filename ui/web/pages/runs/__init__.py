"""The list of runs, and the trash."""

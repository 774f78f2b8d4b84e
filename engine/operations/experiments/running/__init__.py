"""Running: the process that makes and scores the runs of an experiment, and what it needs for that."""

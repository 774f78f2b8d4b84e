"""Commands that start, control and follow a run."""

"""The chart of a run, and what it says of states and edges."""

"""A fleet: workers to which Temporal assigns runs, and web servers that show and control all runs."""

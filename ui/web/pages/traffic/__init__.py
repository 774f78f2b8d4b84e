"""Traffic: many runs of a pattern on one diagram."""

"""What many runs of a pattern did, on one diagram."""

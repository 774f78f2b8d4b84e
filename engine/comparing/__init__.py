"""Comparing two runs: aligned by the states they went through, and what differs along the way."""

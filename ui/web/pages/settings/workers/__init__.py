"""The workers of a fleet."""

"""The home page: what needs attention, the patterns, and recent runs."""

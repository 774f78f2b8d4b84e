"""The home page: open requests, recent runs, and the patterns."""

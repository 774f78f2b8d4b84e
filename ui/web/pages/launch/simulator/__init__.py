"""The simulator page: a walk through a pattern's chart."""

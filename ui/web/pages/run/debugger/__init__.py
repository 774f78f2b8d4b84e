"""Step mode and breakpoints on the run page."""

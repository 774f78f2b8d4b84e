"""What a live run meets outside its chart: work, timeouts, its budget, and breakpoints."""

"""The editor of a chart: its text, its diagram, and what checking and rehearsing it came to."""

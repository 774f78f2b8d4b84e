"""Two versions of a chart: on one diagram, in words, and as texts."""

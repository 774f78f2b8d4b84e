"""Path statistics: the path of one run, and the aggregate of many runs on one chart."""

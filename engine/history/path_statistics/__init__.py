"""Path statistics: one run's path, and the aggregate of many runs on one chart."""

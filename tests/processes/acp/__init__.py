"""External agents as real processes."""

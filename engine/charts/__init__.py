"""Charts as plain data and as files: what a person writes, and what changed between two versions."""

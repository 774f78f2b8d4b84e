"""Charts as files: patterns written in YAML, without code."""

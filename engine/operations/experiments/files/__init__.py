"""Files of experiments: YAML that says what to compare, and bundles with all that came of it."""

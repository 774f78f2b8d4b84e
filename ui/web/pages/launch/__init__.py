"""The launch page: inputs, models, limits and debugging options of a new run."""

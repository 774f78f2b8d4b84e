"""A new experiment: what is compared, on which cases, and how it is scored."""

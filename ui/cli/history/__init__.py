"""Commands that read, compare, annotate and export recorded runs."""

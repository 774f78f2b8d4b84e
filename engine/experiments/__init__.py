"""Experiments: which variant of a workflow is better on a dataset, and whether that is true."""

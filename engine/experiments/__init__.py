"""Experiments: which variant of a workflow is better, told from scored runs of the same cases."""

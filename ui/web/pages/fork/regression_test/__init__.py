"""The regression test of a run."""

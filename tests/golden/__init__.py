"""Recorded journals, one per shipped scenario: the current code must still replay them."""

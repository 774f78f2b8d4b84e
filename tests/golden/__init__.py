"""Recorded journals, one for each scenario that is shipped: today's code must still replay them."""

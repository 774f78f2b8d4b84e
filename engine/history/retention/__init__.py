"""Retention: which runs are kept and for how long, and people's notes on them."""

"""Retention: how long runs are kept, their disk usage, and people's notes on them."""

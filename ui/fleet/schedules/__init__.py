"""Schedules in a fleet: Temporal wakes a worker when one is due, and the worker handles it."""

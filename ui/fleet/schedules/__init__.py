"""Schedules in a fleet: Temporal knows when each is due, and a worker handles its times."""

"""Schedules and triggers: what starts runs by itself."""

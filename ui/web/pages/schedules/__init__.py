"""Schedules and triggers, which start runs automatically."""

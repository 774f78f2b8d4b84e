"""Notifications: who is told of what, and what was sent."""

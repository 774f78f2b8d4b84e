"""Turns engine records into text for people; nothing here draws."""

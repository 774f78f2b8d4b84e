"""Reads lines of a weather station, converts their units, and reports on a day."""

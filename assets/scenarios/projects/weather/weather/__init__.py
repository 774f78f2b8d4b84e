"""Reads lines from a weather station, converts their units, and summarizes a day."""

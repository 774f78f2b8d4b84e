"""Debates as parts of a chart: turns, seats, agreement, synthesis, and the records of all of it."""

"""Marking: people's marks of the runs of an experiment, who are not told which variant made them."""

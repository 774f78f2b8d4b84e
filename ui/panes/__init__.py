"""The parts of the run page."""

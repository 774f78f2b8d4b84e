"""The parts of the time-bounded loop: what it says, plans, measures, decides and reports."""

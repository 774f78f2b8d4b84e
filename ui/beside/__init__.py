"""The parts of the page that shows two runs beside each other."""

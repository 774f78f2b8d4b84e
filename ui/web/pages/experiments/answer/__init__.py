"""What the page of an experiment says of its answer, and what a person makes of it."""

"""Teams: one plans, workers carry out, and how each is cast."""

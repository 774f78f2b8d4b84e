"""Power cuts after every step and killed processes: nothing is lost, only calls in flight are repeated."""

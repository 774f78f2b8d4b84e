"""Actions of the time-bounded loop: on the whole run, its plans and steps, and replanning."""

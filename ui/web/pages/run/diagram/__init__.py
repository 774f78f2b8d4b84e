"""The chart of a run, with explanations of its edges and the checklist of its plan."""

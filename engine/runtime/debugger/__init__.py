"""The debugger: breakpoints with conditions, stepping, and what guards saw."""

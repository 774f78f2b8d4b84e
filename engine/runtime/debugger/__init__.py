"""The debugger: breakpoints with conditions, stepping, and explanations of guards."""

"""The run page: one screen for one run, live or at any recorded step."""

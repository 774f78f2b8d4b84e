"""The head of the run page: title, status, controls, budget and menu."""

"""The palette: everything a page leads to, found by typing."""

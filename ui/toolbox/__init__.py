"""The tools there are, and trying one by hand."""

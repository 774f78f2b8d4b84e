"""Step mode and breakpoints on the screen: controls of runs and regions, lists, forms, marks."""

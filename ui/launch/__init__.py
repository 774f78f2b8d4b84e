"""Starting a run: the cards of the patterns, the launch form and all that it asks."""

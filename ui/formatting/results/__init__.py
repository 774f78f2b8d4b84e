"""What came out of a run, as blocks that pages and exports draw."""

"""The bar of time of the run page: dragged, played and zoomed."""

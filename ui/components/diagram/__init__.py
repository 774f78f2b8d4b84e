"""Charts as drawings: layout, folding, overlays, zooming and saving."""

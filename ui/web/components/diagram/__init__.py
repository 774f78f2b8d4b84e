"""Diagrams on pages: thumbnails, fitting into the room, collapsing, zooming and saving."""

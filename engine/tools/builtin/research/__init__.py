"""Tools for research: pages, feeds, calendars, arithmetic, notes."""

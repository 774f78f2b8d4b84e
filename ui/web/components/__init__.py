"""Building blocks of pages: frame, controls, menus, dialogs, and elements that run in the browser."""

"""Our static files for browsers: their location, and the logo."""

from pathlib import Path

ASSETS = Path(__file__).parents[3] / 'assets' / 'web'
STYLES = ASSETS / 'styles'

MARK = (
    '<svg viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round" '
    'aria-hidden="true"><path d="M4 24a12 12 0 0 1 24 0"/><path d="M10.5 24a5.5 5.5 0 0 1 11 0"/>'
    '<circle cx="16" cy="24" r="1.6" fill="currentColor" stroke="none"/></svg>'
)
"""The seats of a parliament, seen from above."""

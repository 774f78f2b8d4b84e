"""Forms for breakpoints."""

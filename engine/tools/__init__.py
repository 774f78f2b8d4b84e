"""Tools that agents may call: one file, one tool."""

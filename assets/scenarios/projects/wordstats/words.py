"""Statistics of a text."""


def count(text):
    """How many words a text has."""
    return len(text.split())

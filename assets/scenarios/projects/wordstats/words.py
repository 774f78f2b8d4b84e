"""Text statistics."""


def count(text):
    """Return the number of words in a text."""
    return len(text.split())

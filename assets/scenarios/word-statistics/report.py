"""A report of the most frequent words, as text."""

from frequent import frequent


def report(text, limit=10):
    """Return one line per word, in two columns."""
    rows = frequent(text, limit)
    width = max((len(word) for word, _ in rows), default=0)
    return ''.join(f'{word:<{width}}  {number}\n' for word, number in rows)

"""A report of the most frequent words, as text."""

from frequent import frequent


def report(text, most=10):
    """A line for each word, in two columns."""
    rows = frequent(text, most)
    width = max((len(word) for word, _ in rows), default=0)
    return ''.join(f'{word:<{width}}  {number}\n' for word, number in rows)

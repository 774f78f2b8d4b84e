"""The most frequent words of a text."""

import re
from collections import Counter


def frequent(text, limit=10):
    """Return words with their counts, the most frequent first and ties in alphabetical order."""
    found = Counter(re.findall(r"\w+(?:'\w+)?", text.casefold()))
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]

"""The most frequent words of a text."""

import re
from collections import Counter


def frequent(text, most=10):
    """Words and how often they occur, the most frequent first; equal ones by their letters."""
    found = Counter(re.findall(r"\w+(?:'\w+)?", text.casefold()))
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:most]

"""Slugs: readable parts of URLs, made from titles."""

import re
import unicodedata


def slugify(title: str) -> str:
    """Return the lowercase letters and digits of a title, with hyphens between words."""
    plain = unicodedata.normalize('NFKD', title).encode('ascii', 'ignore').decode()
    return '-'.join(re.findall(r'[a-z0-9]+', plain.lower()))

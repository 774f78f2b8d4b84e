"""Readable parts of addresses, made from titles."""

import re
import unicodedata


def slugify(title: str) -> str:
    """Small letters and digits of a title, with hyphens between its words."""
    plain = unicodedata.normalize('NFKD', title).encode('ascii', 'ignore').decode()
    return '-'.join(re.findall(r'[a-z0-9]+', plain.lower()))

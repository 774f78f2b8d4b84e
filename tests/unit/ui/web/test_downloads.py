"""Downloads: names of files in headers."""

from __future__ import annotations

import pytest

from ui.web.downloads import attachment


@pytest.mark.parametrize(
    ('name', 'simple'),
    [
        ('Übung 日本 😀.md', '_bung __ _.md'),
        ('a"b\r\nX: y.md', 'a_b_X_ y.md'),
        ('half \ud83d.md', 'half _.md'),
    ],
)
def test_any_name_fits_a_header(name: str, simple: str) -> None:
    """A title holds what a person or a model wrote; headers are Latin-1."""
    header = attachment(name)
    assert header.encode('latin-1') and '\n' not in header
    assert header.startswith(f'attachment; filename="{simple}"; filename*=UTF-8\'\'')

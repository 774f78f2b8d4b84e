"""The one style sheet is quick to apply while text is streamed."""

from __future__ import annotations

import re

import pytest

from ui.components import theme
from ui.components.loading.first_paint import style_sheet

HAS = re.compile(r':has\(((?:[^()]|\([^()]*\))*)\)')


def find_broad_arguments(sheet: str) -> list[str]:
    """What stands in `:has()` and may fit any element, for it names no class or what is not to be there."""
    return [
        argument
        for argument in HAS.findall(sheet)
        for compound in re.findall(r'[^\s>+~,]+', argument)
        if ':not(' in compound or '[' in compound or not re.match(r'[.#][\w-]+', compound)
    ]


@pytest.mark.parametrize(
    ('sheet', 'is_found'),
    [
        ('.a:has(> .b + .c.d:hover, #e > .f) .g { }', False),
        ('.a:has(> :not(.b)) { }', True),
        ('.a:has(> .b[aria-hidden="false"]) { }', True),
        ('body:has(.b:not(.hidden)) .c { }', True),
        ('.a:not(:has(> :nth-child(4))) { }', True),
        ('body:has(#app > *) .a { }', True),
    ],
)
def test_slow_selectors_are_found(sheet: str, is_found: bool) -> None:
    assert bool(find_broad_arguments(sheet)) is is_found


def test_has_looks_for_named_classes_only() -> None:
    """One that fits any element has a browser work out anew, for each paragraph that a model streams, the
    styles of all that any `:has()` is about: of `body`, and of all buttons."""
    assert find_broad_arguments(style_sheet(theme.SHEETS, '')) == []

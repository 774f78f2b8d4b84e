"""The style sheets are quick to apply while text is streamed."""

from __future__ import annotations

import re

import pytest

from ui.web.components import theme
from ui.web.components.assets import ASSETS
from ui.web.components.loading.first_paint import own_styles, style_sheet

HAS = re.compile(r':has\(((?:[^()]|\([^()]*\))*)\)')


def find_broad_arguments(sheet: str) -> list[str]:
    """Return arguments of `:has()` that may match any element: with `:not()` or `[`, or no class or id."""
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
    """If one matches any element, each paragraph that a model streams makes browsers recompute the styles of
    everything that any `:has()` applies to: of `body`, and of all buttons."""
    assert find_broad_arguments(style_sheet(theme.SHEETS, str) + own_styles(theme.RUN_SHEETS)) == []


LITERAL = re.compile(r'font-size: (?!var\(|inherit)|font-weight: (?!400|var\()|font: \d')


def test_text_has_the_sizes_and_weights_of_the_house() -> None:
    """Four sizes and three weights, declared in base.css; the login page has no other style sheet."""
    sheets = [path for path in sorted(ASSETS.rglob('*.css')) if path.name != 'login.css']
    lines = {f'{path.name}: {line}' for path in sheets for line in path.read_text('utf-8').splitlines()}
    assert {line for line in lines if 'var(--small)' in line}
    assert {line for line in lines if LITERAL.search(line)} == set()

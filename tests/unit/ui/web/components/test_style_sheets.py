"""The style sheets are quick to apply while text is streamed."""

from __future__ import annotations

import re
from pathlib import Path

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
OFF_GRID = re.compile(
    r'\b(?:margin|padding|gap)[\w-]*:[^;]*?(?<![\w.%])(?!-?(?:0|1|2|\d*[02468][048]|[48]|\d*[13579][26])px)-?\d+px'
)
MOTION = re.compile(
    r'\b(?:transition|animation): '
    r'(?!none|var\(--(?:pulse|blink)\)|[\w-]+ var\(--motion\)(?:, [\w-]+ var\(--motion\))*;)'
)
SHEETS = [path for path in sorted(ASSETS.rglob('*.css')) if 'vendor' not in path.parts]


def find_lines(pattern: re.Pattern[str], sheets: list[Path]) -> set[str]:
    return {
        f'{path.name}: {line.strip()}'
        for path in sheets
        for line in path.read_text('utf-8').splitlines()
        if pattern.search(line)
    }


def test_text_has_the_sizes_and_weights_of_the_house() -> None:
    """Four sizes and three weights, declared in base.css; the login page has no other style sheet."""
    assert find_lines(LITERAL, [path for path in SHEETS if path.name != 'login.css']) == set()
    assert LITERAL.search('b { font-size: 13px; }') and LITERAL.search('b { font-weight: 700; }')


def test_spaces_are_on_a_grid_of_four_pixels() -> None:
    """Hairlines of one and two pixels apart."""
    assert find_lines(OFF_GRID, SHEETS) == set()
    found = [space for space in range(45) if OFF_GRID.search(f'a {{ padding: 4px -{space}px; }}')]
    assert found == [space for space in range(3, 45) if space % 4]


def test_motion_has_one_length_and_stops_where_people_ask_for_less() -> None:
    assert find_lines(MOTION, SHEETS) == set()
    assert MOTION.search('a { transition: width .4s; }') and MOTION.search('a { animation: spin 1s; }')
    assert not MOTION.search('a { transition: fill var(--motion), stroke var(--motion); }')
    still = re.sub(r'\s+', ' ', (ASSETS / 'styles' / 'frame.css').read_text('utf-8'))
    rule = '*, *::before, *::after { animation: none !important; transition: none !important; }'
    assert f'@media (prefers-reduced-motion: reduce) {{ {rule} }}' in still
    lengths = {
        re.search(pattern, (ASSETS / name).read_text('utf-8'))[1]
        for name, pattern in (
            ('styles/base.css', r'--motion: (\d+)ms'),
            ('diagram/viewport.js', r'DURATION = (\d+)'),
        )
    }
    assert len(lengths) == 1

"""Colours are declared once, can be read, and say the same everywhere."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from ui.app.colours import MEANINGS, TONES, declarations
from ui.web.components.assets import ASSETS

ROOT: Final = ASSETS.parents[1]
LITERAL: Final = re.compile(
    r"""#(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})\b(?!-)|(?:rgb|hsl|oklch|lab)a?\("""
    r"""|'(?:bright_)?(?:red|green|yellow|cyan|magenta)'|:[^;:{}]*\b(?:red|orange|green|gold|purple)\b[^;:{}]*;""",
    re.IGNORECASE,
)
RULE: Final = re.compile(r'([^{}]+)\{([^{}]*)\}')
SAID: Final = {
    'wait': r'wait|asking|approval|needs-person|attention|\.seat|choosing',
    'fail': r'fail|\.bad|error|problem|broken|abort|spent|reject|negative|messages|caret|raw'
    r'|edge\.badge|test-bar',
}
"""Words in the selectors of what needs a person, and of failures."""
DERIVED: Final = re.compile(r'--(?:q-negative|heat-(?:line-)?bad): ')
"""Variables that hand a colour on to rules which name the meaning."""


def sheets() -> list[Path]:
    return [path for path in sorted(ASSETS.rglob('*.css')) if 'vendor' not in path.parts]


def misuses(sheet: str) -> list[str]:
    """Return the selectors that are orange or red, and name neither a question nor a failure."""
    found = []
    for selectors, body in RULE.findall(re.sub(r'/\*.*?\*/', '', sheet, flags=re.DOTALL)):
        lines = [line for line in body.split(';') if not DERIVED.search(line)]
        used = [name for name in SAID if any(f'var(--{name}' in line for line in lines)]
        found += [
            selector.strip()
            for name, selector in product(used, selectors.split(','))
            if not re.search(SAID[name], selector)
        ]
    return found


def test_no_colour_is_written_outside_the_table() -> None:
    scripts = [path for path in ASSETS.rglob('*.js') if 'vendor' not in path.parts]
    modules = [path for path in (ROOT / 'ui').rglob('*.py') if path.name != 'colours.py']
    written = {
        f'{path.relative_to(ROOT)}: {line.strip()}'
        for path in (*sheets(), *scripts, *modules)
        for line in path.read_text('utf-8').splitlines()
        if LITERAL.search(line)
    }
    assert written == set()
    logo = set(re.findall('#[0-9a-f]{6}', (ASSETS / 'favicon.svg').read_text('utf-8')))
    assert logo == set(TONES['accent'])


def test_orange_is_for_what_needs_a_person_and_red_for_failures() -> None:
    assert {sheet.name: found for sheet in sheets() if (found := misuses(sheet.read_text('utf-8')))} == {}
    assert misuses(
        '.star, .pill.waiting { color: var(--wait); } .btn { border-color: var(--fail-soft); }'
    ) == [
        '.star',
        '.btn',
    ]


def test_each_variable_is_declared() -> None:
    names = {
        name for sheet in sheets() for name in re.findall(r'var\(--([\w-]+)\)', sheet.read_text('utf-8'))
    }
    declared = {
        name for sheet in sheets() for name in re.findall(r'--([\w-]+):', sheet.read_text('utf-8'))
    } | set(re.findall(r'--([\w-]+):', declarations('light')))
    assert names - declared == {
        'columns',
        'depth',
        'height',
        'lane',
        'share',
    }  # set on elements, as they are drawn


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_each_meaning_can_be_read_on_its_ground_and_on_the_page(scheme: str) -> None:
    for name, meaning in MEANINGS.items():
        for ground in (meaning.soft, TONES['surface'], TONES['bg']):
            low, high = sorted(luminance(getattr(tone, scheme)) for tone in (meaning.ink, ground))
            assert (high + 0.05) / (low + 0.05) >= 4.5, name

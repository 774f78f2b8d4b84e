"""Builds the font of the icons that pages use: `python -m tests.browser.icons`; needs fonttools, brotli."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nicegui

from tests.tree import ROOT

NAMES = ROOT / 'assets' / 'web' / 'vendor' / 'icons.txt'
FONT = NAMES.with_suffix('.woff2')
WHOLE = '0c19a63c7528cc1a.woff2'
"""NiceGUI's font of all icons."""
QUASAR = ('check_circle', 'warning', 'info', 'priority_high', 'arrow_drop_down', 'cancel', 'close', 'error')
"""Icons of Quasar's own components."""


def literals() -> Iterator[str]:
    """Yield every string in the code of `ui`: possible names of icons."""
    for path in (ROOT / 'ui').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r'[a-z0-9_]+', node.value) if 'icon=' in node.value else [node.value]


def icon_names() -> set[str]:
    """Return strings that are certainly names of icons, such as those of `ui.icon` and `icon=`."""
    literals: set[str] = set()
    for path in (ROOT / 'ui').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text('utf-8'))):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, 'id', '')
            icons = [word.value for word in node.keywords if word.arg == 'icon']
            icons += node.args[:1] if name in ('icon', 'empty_state', 'ActionLabel') else []
            icons += node.args[1:2] if name in ('notice', 'picker') else []
            texts = [one for value in icons for one in ast.walk(value)]
            literals |= {
                text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)
            }
    return literals - {''}


def main() -> None:
    """Write the font and the list of its icons."""
    from fontTools import subset
    from fontTools.ttLib import TTFont

    font = TTFont(Path(nicegui.__file__).parent / 'static' / 'fonts' / WHOLE)
    letters = {glyph: chr(code) for code, glyph in font.getBestCmap().items()}
    glyphs = {}
    for lookup in font['GSUB'].table.LookupList.Lookup:
        for subtable in lookup.SubTable:
            for first, ligatures in getattr(
                getattr(subtable, 'ExtSubTable', subtable), 'ligatures', {}
            ).items():
                for ligature in ligatures:
                    word = ''.join(letters.get(glyph, '?') for glyph in (first, *ligature.Component))
                    glyphs[word] = ligature.LigGlyph
    used = sorted(glyphs.keys() & {*literals(), *QUASAR})
    options = subset.Options(flavor='woff2', layout_features=['*'], ignore_missing_glyphs=True)
    options.layout_closure = False
    keep = subset.Subsetter(options)
    keep.populate(glyphs=[glyphs[word] for word in used], text=''.join(used))
    keep.subset(font)
    subset.save_font(font, str(FONT), options)
    NAMES.write_text('\n'.join(used) + '\n', 'utf-8')
    print(f'{len(used)} icons, {FONT.stat().st_size:,} bytes')


if __name__ == '__main__':
    sys.exit(main())

"""Style sheets: what one pane calls its own must not dress the marks over the slider."""

import re

from ui.theme import ASSETS

GLYPHS = re.search(r'GLYPHS = \{(.*?)\}', (ASSETS / 'marks.js').read_text())
assert GLYPHS
KINDS = re.findall(r'(\w+): ', GLYPHS[1])


def test_no_style_of_another_pane_dresses_a_mark():
    assert 'verdict' in KINDS
    bare = re.compile(rf'(?:^|[}},;]|\*/)\s*\.({"|".join(KINDS)})(?=[\s.,:{{])', re.M)
    found = {sheet.name: bare.findall(sheet.read_text()) for sheet in ASSETS.glob('*.css')}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}

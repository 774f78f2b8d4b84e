"""Style sheets: what one pane calls its own must not dress the marks over the slider."""

import re

from ui.replay.marks import KINDS, UNDRAWN
from ui.theme import ASSETS


def test_no_style_of_another_pane_dresses_a_mark():
    drawn = [kind for kind in KINDS if kind not in UNDRAWN]
    bare = re.compile(rf'(?:^|[}},;]|\*/)\s*\.({"|".join(drawn)})(?=[\s.,:{{])', re.M)
    found = {sheet.name: bare.findall(sheet.read_text()) for sheet in ASSETS.glob('*.css')}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}

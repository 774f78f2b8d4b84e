"""Style sheets: the classes of one sheet must not affect what another one draws."""

import re

from ui.web.components.assets import STYLES
from ui.web.replay.marks import KINDS, UNDRAWN

SHARED = {
    f'{name}.css' for name in ('base', 'diagram', 'conversation', 'frame', 'forms', 'dialogs', 'questions')
}
"""Sheets for all pages."""


def test_no_style_of_another_pane_applies_to_a_mark():
    drawn = [kind for kind in KINDS if kind not in UNDRAWN]
    bare = re.compile(rf'(?:^|[}},;]|\*/)\s*\.({"|".join(drawn)})(?=[\s.,:{{])', re.M)
    kinds_by_sheet = {sheet.name: bare.findall(sheet.read_text()) for sheet in STYLES.rglob('*.css')}
    assert {name: kinds for name, kinds in kinds_by_sheet.items() if kinds} == {}


def test_a_modifier_in_one_sheet_is_not_a_class_in_another():
    bare, added = {}, {}
    for sheet in STYLES.rglob('*.css'):
        text = re.sub(r'/\*.*?\*/', '', sheet.read_text(), flags=re.S)
        for selectors in re.findall(r'([^{}]+)\{', text):
            for selector in map(str.strip, selectors.split(',')):
                if alone := re.fullmatch(r'\.([\w-]+)', selector):
                    bare.setdefault(alone[1], set()).add(sheet.name)
                for word in re.findall(r'\.[\w-]+\.([\w-]+)', selector):
                    added.setdefault(word, set()).add(sheet.name)
    assert {
        word: sheets | added[word]
        for word, sheets in bare.items()
        if added.get(word, sheets) - sheets and not SHARED & sheets
    } == {}


def test_a_class_is_styled_in_one_sheet_only():
    dressed = {}
    for sheet in STYLES.rglob('*.css'):
        text = re.sub(r'/\*.*?\*/', '', sheet.read_text(), flags=re.S)
        for selectors in re.findall(r'([^{}]+)\{', text):
            for name in re.findall(r'(?:^|,)\s*\.([\w-]+)\s*(?=,|$)', selectors):
                dressed.setdefault(name, set()).add(sheet.name)
    assert {name: sheets for name, sheets in dressed.items() if len(sheets) > 1 and not SHARED & sheets} == {}


def test_transitions_not_taken_look_neither_like_errors_nor_like_a_question():
    of_outcomes = re.compile(
        r'\.not-taken|\.edge-outcome|\.guard\b|\.criterion\.(?:missing|open)|\.overlay-badge-why'
    )
    rules = []
    for sheet in STYLES.rglob('*.css'):
        text = re.sub(r'/\*.*?\*/', '', sheet.read_text(), flags=re.S)
        rules += [rule for rule in re.findall(r'([^{}]+)\{([^{}]*)\}', text) if of_outcomes.search(rule[0])]
    assert rules and not [rule for rule in rules if re.search('--(fail|wait)', rule[1])]


def test_each_stylesheet_line_has_one_rule():
    for sheet in STYLES.rglob('*.css'):
        text = re.sub(r'/\*.*?\*/', '', sheet.read_text(), flags=re.S)
        crowded = [line for line in text.splitlines() if re.search(r'\}\s*[^}\s]', line)]
        assert crowded == [], sheet.name

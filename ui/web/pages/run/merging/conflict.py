"""One conflict of a merge: both versions, and the choice between them or a text edited by hand."""

from __future__ import annotations

from typing import Any

from engine.workspace import Conflict, Resolution
from ui.web.components.elements import Code
from ui.web.components.widgets import Box, NativeSelect, Text, label, text_area

EDIT = 'text'
CONTEXT_LINES = 3
"""Context lines shown before and after a conflict."""


class ConflictCard:
    """Shows a conflict; `resolution` is the user's choice.

    Args:
        conflict: the file in conflict.
        branch: the branch whose version is `ours`.
    """

    def __init__(self, conflict: Conflict, branch: str) -> None:
        sides = {'': 'Choose…', 'theirs': 'Agent’s version', 'ours': f'Version on {branch}'}
        if conflict.text is not None:
            sides[EDIT] = 'Edit by hand'
        with Box('card review-conflict', role='group', aria_label=f'Conflict in {conflict.path}'):
            Text('h3', conflict.path, 'mono')
            Text('p', _describe_conflict(conflict, branch), 'muted small')
            if conflict.text is not None:
                rows = conflict_rows(conflict.text)
                Code().show(rows, f'Both versions of {conflict.path}')
            with Box('field'):
                self._choice = NativeSelect(sides, value='', on_change=self._show)
                label('Use', self._choice)
            with Box('field review-edit') as self._editing:
                self._field = text_area(conflict.text or '', spellcheck='false').classes('mono')
                label('Resolved file', self._field)
        self._show()

    @property
    def resolution(self) -> Resolution | None:
        """The chosen resolution; None until one is chosen."""
        match self._choice.value:
            case 'ours':
                return Resolution(side='ours')
            case 'theirs':
                return Resolution(side='theirs')
            case 'text':
                return Resolution(text=str(self._field.value or ''))
        return None

    def _show(self) -> None:
        self._editing.set_visibility(self._choice.value == EDIT)


def _describe_conflict(conflict: Conflict, branch: str) -> str:
    if not conflict.ours:
        return f'{branch} removed this file; the agent changed it.'
    if not conflict.theirs:
        return f'The agent removed this file; {branch} changed it.'
    if conflict.text is None:
        return 'Both changed this file, which is not text.'
    return f'Both changed these lines: - is {branch}, + is the agent.'


def conflict_rows(text: str) -> list[list[Any]]:
    """Return the rows (`Code.show`) of the conflicts that git marks in a text, with context lines."""
    rows: list[list[Any]] = []
    numbers = [0, 0]  # the current lines of the branch's file and of the agent's
    side = ''
    for line in text.removesuffix('\n').split('\n'):
        mark, rest = line[:7], line[7:8]
        if mark == '<' * 7 and rest in ('', ' ') and not side:
            side = '-'
        elif mark == '|' * 7 and side == '-':
            side = 'base'
        elif mark == '=' * 7 and not rest and side in ('-', 'base'):
            side = '+'
        elif mark == '>' * 7 and rest in ('', ' ') and side == '+':
            side = ''
        elif side != 'base':
            numbers[0] += side != '+'
            numbers[1] += side != '-'
            rows.append(
                [side or ' ', 0 if side == '+' else numbers[0], 0 if side == '-' else numbers[1], line]
            )
    return _fold(rows)


def _fold(rows: list[list[Any]]) -> list[list[Any]]:
    """Collapse the unchanged lines outside the context."""
    near = {
        place + step
        for place, row in enumerate(rows)
        if row[0] != ' '
        for step in range(-CONTEXT_LINES, CONTEXT_LINES + 1)
    }
    collapsed: list[list[Any]] = []
    hidden = 0
    for place, row in enumerate([*rows, ['end']]):
        if place < len(rows) and place not in near:
            hidden += 1
            continue
        if hidden:
            collapsed.append(['@', 0, 0, f'{hidden:,} unchanged {"line" if hidden == 1 else "lines"}'])
            hidden = 0
        collapsed.append(row)
    return collapsed[:-1]

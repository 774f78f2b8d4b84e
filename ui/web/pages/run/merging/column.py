"""One agent's version of a file: changes to accept one by one, and lines to comment on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from engine.workspace import FileChange, Hunk, split_hunks
from ui.formatting.files import diff_rows, omission_reason
from ui.web.components.elements import Code
from ui.web.components.widgets import Box, Text, set_attributes


class Column:
    """One agent's changes to one file.

    Args:
        agent: the agent's name.
        change: the changed file.
        said: whether the agent's version is best, and its test result.
        taken: the numbers of the accepted changes; None if the file is not taken from this agent.
        on_take: called with the numbers of the accepted changes whenever they change; None for none.
        on_line: called with the number of a clicked line.
    """

    def __init__(  # noqa: PLR0913  (all are needed, by name)
        self,
        *,
        agent: str,
        change: FileChange,
        summary: str,
        taken: set[int] | None,
        on_take: Callable[[set[int] | None], Any],
        on_line: Callable[[int], Any],
    ) -> None:
        self._agent, self._on_take, self._on_line = agent, on_take, on_line
        self._hunks: list[Hunk] = split_hunks(change.text) if change.text else []
        self._taken = taken
        with Box('card review-column', 'article', aria_label=agent):
            with Box('review-column-head'):
                self._whole = ui.checkbox(agent, value=taken is not None, on_change=self._select_all)
                set_attributes(self._whole, title=f'Use this file from {agent}')
                Text('span', f'+{change.added} -{change.removed}', 'num muted small')
            Text('p', summary, 'muted small')
            if reason := omission_reason(change):
                Text('p', reason, 'muted')
            self._boxes = [self._draw(number, hunk, change) for number, hunk in enumerate(self._hunks)]

    def _draw(self, number: int, hunk: Hunk, change: FileChange) -> ui.checkbox:
        on = self._taken is not None and number in self._taken
        box = ui.checkbox(
            f'Change {number + 1}, line {max(1, hunk.first)}', value=on, on_change=self._select_hunks
        )
        code = Code(on_line=self._on_line)
        head = '\n'.join(change.text.split('\n')[:2])
        rows = [row for row in diff_rows(f'{head}\n{hunk.text}') if row[0] != '@']
        code.show(rows, f'Change {number + 1} of {change.path} by {self._agent}')
        return box

    def _select_all(self) -> None:
        selected = set(range(len(self._hunks))) if self._whole.value else None
        if (selected is None) != (self._taken is None):
            self._select(selected)

    def _select_hunks(self) -> None:
        selected = {number for number, box in enumerate(self._boxes) if box.value}
        if selected != (self._taken or set()):
            self._select(selected or None)

    def _select(self, selected: set[int] | None) -> None:
        self._taken = selected
        self._whole.value = selected is not None
        for number, box in enumerate(self._boxes):
            box.value = selected is not None and number in selected
        self._on_take(selected)

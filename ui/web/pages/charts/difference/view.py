"""Two versions of a chart below their heading: on one diagram, in words, and as texts."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from engine.charts.difference import EdgeDifference, ShapeDifference, StateDifference, compare_shapes
from engine.records import EdgeShape, Shape
from ui.formatting.diagram.difference import MARKS, difference_layer, union_shape
from ui.formatting.diagram.difference_words import DifferenceLine, change_count, difference_lines
from ui.formatting.diagram.overlays import Decoration
from ui.formatting.diagram.rendering import svg
from ui.formatting.files import diff_rows
from ui.formatting.values import count
from ui.web.components.diagram.collapse_menu import CollapseMenu
from ui.web.components.diagram.missing import notice_without_graphviz
from ui.web.components.diagram.zoom_controls import zoom_buttons
from ui.web.components.elements import Code, Diagram
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, Text, set_attributes

LEGEND = (('added', 'Added'), ('removed', 'Removed'), ('changed', 'Changed'))
MAX_CONTEXT = 100_000
"""Lines of context around a change: all, so that every state can be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two versions."""

    title: str
    shape: Shape
    text: str
    find_state: Callable[[str], int]
    """Return the line of a state, by its own name there; 0 if unknown."""
    find_edge: Callable[[EdgeShape], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two sides and what differs."""

    old: Side
    new: Side
    difference: ShapeDifference
    shape: Shape
    """Both charts as one."""
    lines: Sequence[DifferenceLine]
    diff: Sequence[str]
    """The texts as a unified diff; empty if they are the same."""


def compare_sides(old: Side, new: Side) -> Compared:
    """Return what differs. Takes up to a second for hundreds of states: call it in a thread."""
    difference = compare_shapes(old.shape, new.shape)
    texts = old.text.splitlines(), new.text.splitlines()
    return Compared(
        old=old,
        new=new,
        difference=difference,
        shape=union_shape(difference),
        lines=difference_lines(difference),
        diff=[*difflib.unified_diff(*texts, old.title, new.title, n=MAX_CONTEXT, lineterm='')],
    )


class DifferenceView:
    """The differences as a list; a click shows one of them on the diagram and in the texts."""

    def __init__(self, compared: Compared) -> None:
        """Draw everything but the diagram, which `draw` lays out."""
        self._compared = compared
        self._old, self._new, self._difference = compared.old, compared.new, compared.difference
        self._shape, self._lines = compared.shape, compared.lines
        self._rows: list[Box] = []
        self._folds = CollapseMenu(self._shape, self.draw)
        with Box('chart-difference'):
            self._draw_diagram()
            with Box('difference-side'):
                self._draw_list()
                self._draw_texts()

    def _draw_diagram(self) -> None:
        with Box('panel diagram-panel difference-chart', 'section', aria_label='Both versions'):
            with Box('legend'):
                for kind, text in LEGEND:
                    with Box(f'legend-item differs-{kind}', 'span'):
                        Text('i', MARKS[kind], aria_hidden='true')
                        Text('span', text)
                Box('grow', 'span')
                self._folds.draw()
                zoom_buttons(lambda: self._diagram)
            notice_without_graphviz()
            with Box('panel-body flat'):
                self._diagram = Diagram(
                    '',
                    title=self._shape.title,
                    label=f'{self._old.title} and {self._new.title} as one state diagram',
                    states=[str(state.path) for state in self._shape.states],
                    on_pick=self._pick_state,
                    on_fold=self._folds.toggle,
                )
                self._diagram.on_edge(self._pick_edge)

    def _draw_list(self) -> None:
        with Box('panel difference-list', 'section', aria_labelledby='differences'):
            with Box('panel-head'):
                Text('h2', 'Differences', id='differences')
                Text('span', change_count(self._difference), 'muted small', role='status')
            with Box('panel-body'):
                if not self._lines:
                    words = 'States and edges are the same' if self._texts_differ else 'Nothing differs'
                    empty_state('check', f'{words}.')
                for line in self._lines:
                    self._rows.append(self._draw_line(line))

    def _draw_line(self, line: DifferenceLine) -> Box:
        with Box(
            f'difference-line differs-{line.kind}', 'button', type='button', aria_pressed='false'
        ) as row:
            Text('i', MARKS[line.kind], aria_hidden='true')
            with Box(tag='span'):
                if line.subject:
                    Text('b', line.subject)
                Text('span', f' {line.words}' if line.subject else line.words)
        row.on('click', partial(self._pick, line))
        return row

    @property
    def _texts_differ(self) -> bool:
        return self._old.text != self._new.text

    def _draw_texts(self) -> None:
        diff = self._compared.diff
        added = sum(line.startswith('+') for line in diff[2:])
        removed = sum(line.startswith('-') for line in diff[2:])
        with Box('panel difference-texts', 'section', aria_labelledby='texts'):
            with Box('panel-head'):
                Text('h2', 'Text', id='texts')
                words = f'{count(added, "line")} added, {removed} removed' if diff else 'The same in both'
                Text('span', words, 'muted small')
            self._code = Code()
            label = f'Lines of {self._old.title} and {self._new.title}'
            rows = diff_rows('\n'.join(diff)) if diff else self._plain_rows()
            self._code.show(rows, label)
            if first := next((row for row in rows if row[0] in ('+', '-')), None):
                self._code.run_method('reveal', first[1], first[2])

    def _plain_rows(self) -> list[list[object]]:
        return [['', 0, number, line] for number, line in enumerate(self._new.text.splitlines(), 1)]

    async def draw(self) -> None:
        """Lay out the diagram, and mark what differs."""
        self._diagram.show(await svg(self._shape, folded=self._folds.folded))
        layer = await asyncio.to_thread(difference_layer, self._difference, self._folds.folded)
        self._diagram.overlay('differences', layer)

    def _pick_state(self, path: str) -> None:
        line = next((line for line in self._lines if path in line.states), None)
        if line:
            self._pick(line)
        else:
            self._mark((path,), ())
            self._reveal(self._old.find_state(self._before(path)), self._new.find_state(path))

    def _pick_edge(self, name: str, how: str) -> None:
        if how == 'press' and (line := next((line for line in self._lines if name in line.edges), None)):
            self._pick(line)

    def _pick(self, line: DifferenceLine) -> None:
        self._mark(line.states, line.edges)
        for other, row in zip(self._lines, self._rows, strict=True):
            set_attributes(row, aria_pressed=str(other is line).lower())
        self._reveal(*self._find(line))

    def _find(self, line: DifferenceLine) -> tuple[int, int]:
        """Return the lines of both texts that a difference is about; 0 where there is none."""
        match line.of:
            case StateDifference(old=old, new=new, path=path):
                before = self._before(path)
                return self._old.find_state(before) if old else 0, self._new.find_state(path) if new else 0
            case EdgeDifference(old=old, new=new):
                return self._find_old_edge(old) if old else 0, self._new.find_edge(new) if new else 0
        if line.states:
            return self._old.find_state(self._before(line.states[0])), self._new.find_state(line.states[0])
        return 0, 0

    def _find_old_edge(self, edge: EdgeShape) -> int:
        """Return the line of an edge whose states have their new names here."""
        place = self._difference.old.edges.index(edge)
        return self._old.find_edge(self._old.shape.edges[place])

    def _before(self, path: str) -> str:
        """Return the path of a state by its earlier names."""
        place = next((at for at, state in enumerate(self._difference.old.states) if state.path == path), None)
        return path if place is None else self._old.shape.states[place].path

    def _mark(self, states: tuple[str, ...], edges: tuple[str, ...]) -> None:
        picked: Decoration = {'classes': 'picked'}
        self._diagram.overlay(
            'picked', {'states': dict.fromkeys(states, picked), 'edges': dict.fromkeys(edges, picked)}
        )

    def _reveal(self, before: int, after: int) -> None:
        if before or after:
            self._code.run_method('reveal', before, after)

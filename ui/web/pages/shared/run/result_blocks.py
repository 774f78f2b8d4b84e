"""The blocks of a result, drawn: each kind of block once."""

from __future__ import annotations

from functools import singledispatch

from nicegui import ui

from engine import EngineError
from engine.errors import WorkspaceError
from engine.records import RunId
from engine.workspace import FileChange
from ui.formatting.results.blocks import (
    Bar,
    Bars,
    Block,
    Facts,
    Patch,
    Points,
    Prose,
    Remarks,
    Row,
    Rows,
    Tone,
)
from ui.web.components.elements import draw_markdown
from ui.web.components.widgets import Box, Text, set_attributes, set_class
from ui.web.pages.shared.file_changes import FileChanges
from ui.web.pages.shared.run.context import RunContext
from ui.web.replay.conversation import json_to_markdown

TONES: dict[Tone, tuple[str, str]] = {'good': ('check_circle', 'good'), 'bad': ('cancel', 'bad')}
"""An icon and its name for each tone that has one."""


@singledispatch
def draw_block(block: Block, context: RunContext | None) -> None:
    """Draw a block in the current element; `context` is that of its run, which only a patch needs."""
    raise NotImplementedError(block)


@draw_block.register
def _draw_prose(block: Prose, context: RunContext | None) -> None:
    with Box(f'result-prose {"piece" if block.as_piece else ""}'):
        draw_markdown(json_to_markdown(block.text), 'The answer')


@draw_block.register
def _draw_bars(block: Bars, context: RunContext | None) -> None:
    with _titled(block.title):
        for bar in block.bars:
            _draw_bar(bar, block.most)


@draw_block.register
def _draw_rows(block: Rows, context: RunContext | None) -> None:
    with (
        _titled(block.title),
        Box(f'result-rows {"ranked" if any(row.mark for row in block.rows) else ""}', 'ul'),
    ):
        for row in block.rows:
            _draw_row(row)


@draw_block.register
def _draw_points(block: Points, context: RunContext | None) -> None:
    with _titled(block.title), Box('result-points', 'ul'):
        for point in block.points:
            Text('li', point, dir='auto')


@draw_block.register
def _draw_facts(block: Facts, context: RunContext | None) -> None:
    with Box('result-facts', 'dl'):
        for fact in block.facts:
            with Box('result-fact'):
                Text('dt', fact.name)
                Text('dd', fact.words, f'num {fact.tone}')


@draw_block.register
def _draw_remarks(block: Remarks, context: RunContext | None) -> None:
    with Box('result-remarks', 'ul'):
        for remark in block.remarks:
            with Box('result-remark', 'li'):
                with Box('result-line'):
                    Text('code', f'{remark.file}:{remark.line}', 'mono')
                    Text('span', remark.severity, f'severity {remark.severity}')
                Text('p', remark.text)
                if remark.suggestion:
                    Text('p', remark.suggestion, 'muted')


def _titled(title: str) -> Box:
    """Open a section under a heading."""
    section = Box('result-section', role='group', aria_label=title)
    with section:
        Text('h3', title)
    return section


def _draw_bar(bar: Bar, most: float) -> None:
    with Box(f'result-bar {bar.tone}'):
        Text('span', bar.label, 'result-bar-label', dir='auto')
        Text('span', bar.words, 'result-bar-words num')
        with Box('result-track', aria_hidden='true'):
            Box('result-fill').style(f'width: {100 * bar.value / most:.1f}%')
        if bar.note:
            Text('p', bar.note, 'result-bar-note')


def _draw_row(row: Row) -> None:
    with Box(f'result-row {"chosen" if row.chosen else ""}', 'li'):
        Text('span', row.mark, 'result-mark num')
        with Box('result-row-text'):
            with Box('result-row-head'):
                Text('b', row.name, dir='auto')
                for fact in row.facts:
                    Text('span', fact, 'num')
            if row.note:
                Text('p', row.note, 'muted', title=row.note)
        if row.tone:
            icon, name = TONES[row.tone]
            set_attributes(ui.icon(icon, size='18px').classes(f'result-tone {name}'), aria_label=name)


@draw_block.register
def _draw_patch(patch: Patch, context: RunContext | None) -> None:
    """Draw the changes once they are read; nothing if there are none, or they are no longer kept."""
    if context is None:
        return
    with _titled(patch.title) as section:
        changes = FileChanges()
    section.classes('result-patch').set_visibility(False)

    async def load() -> None:
        try:
            differing = await _read_changes(context, patch.agent)
        except (EngineError, WorkspaceError):
            return
        if differing and not section.is_deleted:
            set_class(section, 'single', on=len(differing) == 1)
            section.set_visibility(True)
            await changes.show(_ready(differing))

    with section:
        ui.timer(0, load, once=True)


async def _read_changes(context: RunContext, agent: str) -> list[FileChange]:
    merging = context.conductor.merging
    mergeable = await merging.mergeable(RunId(context.run))
    name = agent or mergeable.best
    return await merging.changes(mergeable, name) if name else []


async def _ready(changes: list[FileChange]) -> list[FileChange]:
    return changes

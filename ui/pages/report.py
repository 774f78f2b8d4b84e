"""The final report of a run: a page to read and print, with links into the run, and a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException, Response
from nicegui import app, ui

from engine import Conductor, EngineError, RunId, RunInfo, Shape, View
from ui.door import Door
from ui.downloads import HARMLESS, attachment
from ui.elements import Conversation
from ui.pages import missing
from ui.panes.asks import Asks
from ui.panes.checklist import MARKS, stands, steps_of
from ui.parts import Text, link
from ui.presenters.messages import messages_of
from ui.replay.grown import Grown
from ui.served import served
from ui.theme import button, empty, frame, pill

AT_ONCE = 500
"""Steps that are read at once."""
DEEPEST = 6


def register(door: Door) -> None:
    """Serve `/runs/{run}/report`, and the same as Markdown under `/runs/{run}/report.md`."""

    @served('/runs/{run}/report')
    async def page(run: str) -> None:
        conductor = door()
        try:
            info = await conductor.info(RunId(run))
            shape, view = await conductor.shape(info.id), await conductor.view(info.id)
            steps = await _about(conductor, info, shape, view)
        except EngineError as error:
            missing.unread(error)
            return
        with frame(f'Report · {info.title}'):
            _draw(conductor, info, shape, view, steps)

    @app.get('/runs/{run}/report.md')
    async def file(run: str) -> Response:
        conductor = door()
        try:
            shape, view = await conductor.shape(RunId(run)), await conductor.view(RunId(run))
        except EngineError as error:
            raise HTTPException(404, str(error)) from None
        text = report_of(shape, view)
        if not text:
            raise HTTPException(404, 'this run has no report')
        headers = HARMLESS | {'Content-Disposition': attachment(f'report-{run}.md')}
        return Response(text, media_type='text/markdown; charset=utf-8', headers=headers)


def report_of(shape: Shape, view: View) -> str:
    """The report as Markdown; '' where there is none."""
    return str(view.memory.get(shape.report) or '') if shape.report else ''


async def _about(conductor: Conductor, info: RunInfo, shape: Shape, view: View) -> dict[str, int]:
    """For each step of the plan that a message is about: the step of the run that added the last one."""
    grown, read = Grown.of(shape), 0
    while shape.messages and read < view.seq:
        for step in await conductor.transitions(info.id, after=read, until=read + AT_ONCE):
            grown.take(step)
        read += AT_ONCE
    said = messages_of(view.memory.get(shape.messages), grown.steps(shape.messages))
    return {one.about: one.seq for one in said if one.about and one.seq}


def _draw(conductor: Conductor, info: RunInfo, shape: Shape, view: View, steps: Mapping[str, int]) -> None:
    run, text = f'/runs/{info.id}', report_of(shape, view)
    with ui.element('div').classes('report-bar'):
        with link(run, 'btn'):
            ui.icon('arrow_back')
            Text('span', 'The run')
        pill(view.status)
        ui.element('span').classes('grow')
        asks = Asks(conductor, info, shape, sent=lambda: ui.navigate.to(run))
        asks.show(view, mine=conductor.runs_here(info.id))
        if text:
            with link(f'{run}/report.md', 'btn', download=''):
                ui.icon('download')
                Text('span', 'Markdown')
            button('Print', icon='print').on('click', js_handler='() => window.print()')
    if not text:
        Text('h1', 'Report')
        empty(
            'description',
            'There is no report yet: it is written when the work has stopped.'
            if shape.report
            else 'Runs of this pattern write no report.',
        )
        return
    plan = steps_of(view.memory.get(shape.plan)) if shape.plan else []
    with ui.element('div').classes('report'):
        with ui.element('article').classes('card report-paper').props('aria-label="Report"'):
            Conversation([{'kind': 'text', 'text': text}], label='Report', follow=False)
        with ui.element('aside').classes('report-aside').props('aria-label="In the run"'):
            Text('h2', 'In the run')
            if plan:
                _plan(run, plan, steps, 1)
            with ui.element('div').classes('report-links'):
                for there, end, title in (
                    (shape.messages, 'messages', 'All messages'),
                    (shape.oversight, 'supervision', 'Gates and escalation'),
                    (shape.clock, 'time', 'Time'),
                ):
                    if there:
                        with link(f'{run}/{end}'):
                            Text('span', title)


def _plan(run: str, plan: list[Mapping[str, Any]], steps: Mapping[str, int], depth: int) -> None:
    """The steps of the plan, each a link to where it was spoken of last."""
    with ui.element('ol').classes('plan-steps'):
        for step in plan:
            name, state = str(step.get('id', '')), str(step.get('state', ''))
            with ui.element('li').classes(f'plan-step {state.replace(" ", "-")}'):
                ui.icon(MARKS.get(state, 'help')).classes('plan-mark').props('aria-hidden="true"')
                with ui.element('div').classes('plan-body'):
                    said = f'{name} {step.get("title", "")}'
                    if name in steps:
                        with link(f'{run}?at={steps[name]}', 'plan-title'):
                            Text('span', said)
                    else:
                        Text('span', said, 'plan-title')
                    with ui.element('div').classes('plan-facts'):
                        Text('span', stands(step, plan), f'plan-state {state.replace(" ", "-")}')
                    inner = steps_of(step.get('steps'))
                    if inner and depth < DEEPEST:
                        _plan(run, inner, steps, depth + 1)

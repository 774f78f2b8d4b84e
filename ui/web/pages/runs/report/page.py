"""The final report of a run: a page to read and print, and a Markdown file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException, Response
from nicegui import app, ui

from engine import Conductor, EngineError
from engine.history import report_of
from engine.records import RunId, RunInfo, Shape, View
from ui.app.backend import Backend
from ui.formatting.values import origin_note
from ui.web.components.elements import draw_markdown
from ui.web.components.theme import button, empty_state, frame, origin_chip, page_head, pill
from ui.web.components.widgets import Box, Text, text_link
from ui.web.downloads import HARMLESS, attachment
from ui.web.pages.run.header.input_requests import InputRequests
from ui.web.pages.run.pane import FACES, handled_inputs, pattern_panels
from ui.web.pages.run.panels.messages import messages_of
from ui.web.pages.run.panels.plan import MARKS, PLAN, plan_steps, step_status
from ui.web.pages.run.panes import PANES
from ui.web.pages.shared import errors
from ui.web.replay.history import History
from ui.web.routing import serve_page

STEPS_PER_READ = 500
"""Number of steps per read."""
MAX_DEPTH = 6


def register(backend: Backend) -> None:
    """Serve `/runs/{run}/report`, and its Markdown version under `/runs/{run}/report.md`."""

    @serve_page('/runs/{run}/report')
    async def page(run: str) -> None:
        conductor = backend()
        try:
            info = await conductor.info(RunId(run))
            shape, view = await conductor.shape(info.id), await conductor.view(info.id)
            steps = await _find_plan_steps(conductor, info, shape, view)
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(f'Report · {info.title}', of_runs=True):
            _draw(conductor, info, shape, view, steps)

    @app.get('/runs/{run}/report.md')
    async def file(run: str) -> Response:
        conductor = backend()
        try:
            shape, view = await conductor.shape(RunId(run)), await conductor.view(RunId(run))
        except EngineError as error:
            raise HTTPException(404, str(error)) from None
        text = final_report(conductor, shape, view)
        if not text:
            raise HTTPException(404, 'this run has no report')
        if note := origin_note(view):
            text += f'\n*{note}*\n'
        headers = HARMLESS | {'Content-Disposition': attachment(f'report-{run}.md')}
        return Response(text, media_type='text/markdown; charset=utf-8', headers=headers)


def final_report(conductor: Conductor, shape: Shape, view: View) -> str:
    """Return the report as Markdown; '' until the work has ended, and if there is none."""
    report = report_of(conductor.catalog, shape, view)
    return report.text if report.final else ''


async def _find_plan_steps(conductor: Conductor, info: RunInfo, shape: Shape, view: View) -> dict[str, int]:
    """Return the run step of the last message about each plan step, by the id of the plan step."""
    field, history, read = shape.field('messages'), History(), 0
    while field and read < view.seq:
        for step in await conductor.transitions(info.id, after=read, until=read + STEPS_PER_READ):
            history.add(step)
        read += STEPS_PER_READ
    messages = messages_of(view.memory.get(field), history.appended_to(field))
    return {message.about: message.seq for message in messages if message.about and message.seq}


def _draw(conductor: Conductor, info: RunInfo, shape: Shape, view: View, steps: Mapping[str, int]) -> None:
    run, text = f'/runs/{info.id}', final_report(conductor, shape, view)
    page_head('Report', info.title, back=(run, 'Run'))
    with Box('report-bar'):
        pill(view.status, view.error)
        for origin in view.origins:
            origin_chip(origin)
        Box('grow', 'span')
        handled = handled_inputs(PANES, shape, FACES)
        asks = InputRequests(conductor, info, shape, handled, on_sent=lambda: ui.navigate.to(run))
        asks.show(view, may_control=conductor.can_control(info.id))
        if text:
            text_link(f'{run}/report.md', 'Markdown', 'btn', icon='download', download='')
            button('Print', icon='print').on('click', js_handler='() => window.print()')
    if not text:
        empty_state(
            'description',
            'No report yet: it is written when the work has ended.'
            if shape.field('report')
            else 'This pattern does not write reports.',
        )
        return
    plan = plan_steps(view.memory.get(shape.field(PLAN)))
    with Box('report'):
        with Box('card report-paper', 'article', aria_label='Report'):
            Text('h2', info.title, 'visually-hidden')  # the report's own headings are below it
            draw_markdown(text, 'Report')
            if note := origin_note(view):
                Text('p', note, 'muted small')
        with Box('report-aside', 'aside', aria_label='In the run'):
            Text('h2', 'In the run')
            if plan:
                _draw_plan(run, plan, steps, 1)
            with Box('report-links'):
                for panel in pattern_panels(PANES, shape):
                    text_link(f'{run}/{panel.title.lower()}', panel.title)


def _draw_plan(run: str, plan: list[Mapping[str, Any]], steps: Mapping[str, int], depth: int) -> None:
    """Draw the steps of the plan, each linked to the last message about it."""
    with Box('plan-steps', 'ol'):
        for step in plan:
            name, state = str(step.get('id', '')), str(step.get('state', ''))
            with Box(f'plan-step {state.replace(" ", "-")}', 'li'):
                ui.icon(MARKS.get(state, 'help')).classes('plan-mark').props('aria-hidden="true"')
                with Box('plan-body'):
                    text = f'{name} {step.get("title", "")}'
                    if name in steps:
                        text_link(f'{run}?at={steps[name]}', text, 'plan-title')
                    else:
                        Text('span', text, 'plan-title')
                    with Box('plan-facts'):
                        Text('span', step_status(step, plan), f'plan-state {state.replace(" ", "-")}')
                    inner = plan_steps(step.get('steps'))
                    if inner and depth < MAX_DEPTH:
                        _draw_plan(run, inner, steps, depth + 1)

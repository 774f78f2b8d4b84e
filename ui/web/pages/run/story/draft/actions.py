"""What a person does with a draft, and with the chart that it became."""

from __future__ import annotations

import asyncio
from functools import partial

from nicegui import ui

from engine.charts import load_chart
from engine.operations.rehearsal.simulator import with_examples
from engine.patterns import ChartDraft
from engine.records import Launch
from ui.formatting.values import as_sentence
from ui.web.components.dialogs import (
    ask_event,
    await_answer,
    dialog_frame,
    draw_dialog_actions,
    notify_errors,
)
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, text_link
from ui.web.pages.charts.checking import TextProblem
from ui.web.pages.charts.editor.text import ChartText
from ui.web.pages.shared.run.context import RunContext
from ui.web.routing import chart_path, launch_path


class DraftActions:
    """The buttons of a draft."""

    def __init__(self, context: RunContext, draft: ChartDraft) -> None:
        self._context, self._draft = context, draft

    def draw_decision(self) -> None:
        """Draw what can be decided; only a draft that passes can be approved."""
        with Box('result-actions', role='group', aria_label='Your decision'):
            accept = button('Approve and save', icon='check', kind='primary small', requires='send')
            accept.on('click', lambda: self._context.send('accept', '', {}))
            if not self._draft.sound:
                accept.props('disabled').tooltip('Mend what was found first')
            for text, kind, act in (
                ('Ask for changes', 'small', partial(self._ask, 'ask for changes', 'revise')),
                ('Edit', 'small wide-only', self._edit),
                ('Discard', 'quiet small', partial(self._ask, 'discard', 'discard')),
            ):
                button(text, kind=kind, requires='send').on('click', act)

    def draw_next_steps(self, *, saved: bool) -> None:
        """Draw what can be done with the chart; most of it once it is saved."""
        name = self._draft.chart
        with Box('result-actions', role='group', aria_label='With this chart'):
            button('Download', kind='quiet small').on('click', self._download)
            if not saved:
                return
            text_link(chart_path(name), 'Open in the editor', 'btn quiet small')
            text_link(launch_path(name), 'Run it', 'btn small')
            run = button('Try it with its stubs', icon='play_arrow', kind='primary small', requires='start')
            run.tooltip('A run of its own, in which stubs answer instead of models')
            run.on('click', self._try)

    def _download(self) -> None:
        name = self._draft.chart or 'draft'
        ui.download.content(self._draft.text.encode(errors='replace'), f'{name}.chart.yaml')

    async def _ask(self, title: str, trigger: str) -> None:
        context = self._context
        model = context.conductor.catalog.pattern_of(context.info).inputs[trigger]
        await ask_event(title, model, lambda data: context.conductor.send(context.run, trigger, data=data))

    async def _edit(self) -> None:
        """Let a person change the text; what they write is checked like any draft."""
        draft = self._draft
        with dialog_frame('Edit the chart', 'wide draft-editor') as dialog:
            Text('p', 'It is checked and tried out again before you decide.', 'muted')
            editor = ChartText(draft.text, label='Text of the chart')
            dialog.on('show', partial(_show_problems, editor, draft))
            draw_dialog_actions(dialog, 'Check', lambda: dialog.submit(True))
        if await await_answer(dialog):
            await self._context.send('rewrite', '', {'text': editor.text})

    async def _try(self) -> None:
        """Start a run of the chart with examples and its own stubs, and open it."""
        run = await notify_errors(self._start())
        if run:
            ui.navigate.to(f'/runs/{run}')

    async def _start(self) -> str:
        pattern = await asyncio.to_thread(load_chart, self._draft.text)
        sample = next((item for item in pattern.file.scenarios if pattern.stubs_for(item)), None)
        parameters = dict(sample.parameters) if sample else {}
        filled = with_examples(pattern, parameters).parameters.model_dump(mode='json')
        launch = Launch(pattern=pattern.name, parameters=filled, stubs=pattern.stubs_for(sample))
        return (await self._context.conductor.start(launch)).id


def _show_problems(editor: ChartText, draft: ChartDraft) -> None:
    """Mark what was found, and go to the first of it."""
    problems = [
        TextProblem(line=finding.line, text=as_sentence(finding.text), level=finding.level)
        for finding in draft.findings
        if finding.is_serious
    ]
    editor.show_problems(problems)
    editor.go(problems[0]['line'] if problems else 1)

"""The rehearsal of a pattern in a dialog: findings, ways to its states and costs, beside its diagram."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from engine import EngineError, Pattern
from engine.operations.rehearsal import PlayedEvent, Rehearsal, RehearsedState
from engine.records import Shape
from ui.app.backend import Backend
from ui.formatting.steps import path_text
from ui.formatting.values import count
from ui.web.components.debounce import create_page_task
from ui.web.components.dialogs import await_answer, dialog_frame
from ui.web.components.tabs import Tabs
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text, table_head
from ui.web.pages.launch.rehearsal.stage import Stage
from ui.web.pages.shared.rehearsal import draw_cost, draw_findings

MAX_NAMED = 3
"""Maximum number of states named to which no way was found."""


class RehearsalDialog:
    """Rehearses a pattern and shows what came of it."""

    def __init__(self, backend: Backend, pattern: type[Pattern]) -> None:
        self._backend, self._pattern = backend, pattern

    async def open(self, parameters: Mapping[str, Any], models: Mapping[str, str]) -> None:
        """Open the dialog, rehearse, and return when it is closed."""
        with dialog_frame(f'Rehearsal of {self._pattern.title}', 'rehearsal') as dialog:
            with Box('ghost') as content:
                Text('p', 'Looking for a way to each state…', 'muted', role='status')
            with Box('dialog-actions'):
                button('Close', autofocus='').on('click', lambda: dialog.submit(None))
        create_page_task(dialog, self._fill(content, parameters, models), 'rehearse')
        await await_answer(dialog)

    async def _fill(self, content: Box, parameters: Mapping[str, Any], models: Mapping[str, str]) -> None:
        name = self._pattern.name
        try:
            rehearsal = await self._backend().rehearse(
                name, parameters, models=models, version=self._pattern.version
            )
            shape = self._backend().catalog.draw(name, parameters, self._pattern.version)
        except EngineError as error:
            problem = f'The pattern could not be rehearsed: {error}.'
            if not content.is_deleted:
                content.clear()
                with content:
                    text_notice('fail', 'error', problem)
            return
        if not content.is_deleted:
            content.clear()
            with content:
                self._draw(rehearsal, shape, parameters)

    def _draw(self, rehearsal: Rehearsal, shape: Shape, parameters: Mapping[str, Any]) -> None:
        with Box('rehearsal-body'):
            stage = Stage(self._pattern, parameters, shape, rehearsal)
            with Box('panel rehearsal-results', 'section', aria_label='Results'):
                tabs = Tabs('Results')
                with tabs.panel(f'Findings ({len(rehearsal.findings)})'):
                    draw_findings(rehearsal, stage.point_to)
                with tabs.panel('States'):
                    _draw_states(rehearsal, stage)
                with tabs.panel('Cost'):
                    draw_cost(rehearsal.cost)


def _draw_states(rehearsal: Rehearsal, stage: Stage) -> None:
    ends = [state for state in rehearsal.states if state.ends]
    others = [state for state in rehearsal.states if not state.ends]
    if undecided := rehearsal.undecided:
        first = ', '.join(map(path_text, undecided[:MAX_NAMED]))
        more = f' and {len(undecided) - MAX_NAMED} more' if len(undecided) > MAX_NAMED else ''
        found_none = 'No way was found' if rehearsal.complete else 'The time was too short to find a way'
        text_notice('info', 'schedule', f'{found_none} to: {first}{more}.')
    for title, states in (('Outcome', ends), ('State', others)):
        with Box('usage-table rehearsal-states'), Box(tag='table'):
            table_head([title, 'Shortest way found', ''])
            with Box(tag='tbody'):
                for state in states:
                    _draw_state(state, stage)


def _draw_state(state: RehearsedState, stage: Stage) -> None:
    name = path_text(state.path)
    with Box(tag='tr'):
        Text('th', name, scope='row')
        if state.events:
            events = ', then '.join(_event_text(event) for event in state.events)
            Text('td', count(len(state.events), 'event'), title=events)
            with Box(tag='td'):
                play = button('', icon='play_arrow', kind='small quiet', label=f'Play the way to {name}')
                play.on('click', partial(stage.play, state))
        else:
            Text('td', 'not found in time' if state.possible else 'never reached', 'muted')
            Text('td', '')


def _event_text(event: PlayedEvent) -> str:
    return f'{event.name} at {path_text(event.at)}' if event.at else event.name

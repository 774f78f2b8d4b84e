"""The rehearsal of a pattern in a dialog: findings, ways to its states and costs, beside its diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from engine import EngineError, Pattern
from engine.operations.rehearsal import Cost, Figures, Finding, Level, PlayedEvent, Rehearsal, RehearsedState
from engine.records import Shape
from ui.app.backend import Backend
from ui.formatting.steps import path_text
from ui.formatting.usage import (
    cost_sentence,
    dollars,
    figure,
    repeats_sentence,
    unbounded_lines,
    usual_sentence,
)
from ui.formatting.values import count
from ui.web.components.debounce import create_page_task
from ui.web.components.dialogs import await_answer, dialog_frame
from ui.web.components.tabs import Tabs
from ui.web.components.theme import button, empty_state, text_notice
from ui.web.components.widgets import Box, Text, table_head
from ui.web.pages.launch.rehearsal.stage import Stage

MAX_NAMED = 3
"""Maximum number of states named to which no way was found."""
MAX_REASONS = 5
"""Maximum number of reasons listed why there is no bound."""
COLUMNS = ('calls', 'tokens', 'dollars', 'answers')
"""The figures in the table of costs; those that are 0 or have no bound everywhere are left out."""


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
            rehearsal = await self._backend().rehearse(name, parameters, models=models)
            shape = self._backend().catalog.draw(name, parameters)
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
                    _draw_findings(rehearsal, stage)
                with tabs.panel('States'):
                    _draw_states(rehearsal, stage)
                with tabs.panel('Cost'):
                    _draw_cost(rehearsal.cost)


def _draw_findings(rehearsal: Rehearsal, stage: Stage) -> None:
    if not rehearsal.findings:
        empty_state('check', 'No problems found in this chart.')
    alike: dict[tuple[Level, str], list[Finding]] = {}
    for finding in rehearsal.findings:
        alike.setdefault((finding.level, finding.text), []).append(finding)
    for (level, text), findings in alike.items():
        with Box('rehearsal-finding'):
            Text('b', level.capitalize(), f'level-{level}')
            with Box('grow'):
                Text('p', f'{text[:1].upper()}{text[1:]}.')
                for finding in findings:
                    if name := _place_of(finding):
                        place = button(name, kind='small quiet', title='Show it on the diagram')
                        place.on('click', partial(stage.point_to, finding))


def _place_of(finding: Finding) -> str:
    """Return the edge or the state of a finding, for people."""
    if not finding.edge:
        return path_text(finding.state)
    trigger, _, ends = finding.edge.partition(': ')
    source, _, dest = ends.partition(' → ')
    ends = f'{path_text(source)} → {path_text(dest)}' if dest else path_text(source)
    return f'{ends} ({trigger.replace("_", " ")})'


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


def _draw_cost(cost: Cost) -> None:
    with Box('rehearsal-cost'):
        Text('p', 'No upper bound.' if cost.unbounded_calls else cost_sentence(cost), 'strong')
        Text('p', usual_sentence(cost), 'muted')
        lines = unbounded_lines(cost)
        if lines:
            with Box(tag='ul'):
                for line in lines[:MAX_REASONS]:
                    Text('li', line)
                if len(lines) > MAX_REASONS:
                    Text('li', f'{count(len(lines) - MAX_REASONS, "more reason")}.')
        if cost.repeats:
            Text('p', repeats_sentence(cost), 'muted')
    spent = [state for state in cost.states if any(getattr(state.most, name) != 0 for name in COLUMNS)]
    columns = [
        name for name in COLUMNS if name == 'calls' or any(getattr(state.most, name) for state in spent)
    ]
    if not spent:
        return
    with Box('usage-table rehearsal-costs'), Box(tag='table'):
        table_head(['State', 'Visits', *(f'Most {name}' for name in columns), 'Usual calls'])
        with Box(tag='tbody'):
            for state in spent:
                _draw_figures(path_text(state.path), figure(state.visits), state.most, state.usual, columns)
            _draw_figures('Whole run', '', cost.most, cost.usual, columns)


def _draw_figures(
    name: str, visits: str, most: Figures, usual: Figures | None, columns: Sequence[str]
) -> None:
    with Box(tag='tr'):
        Text('th', name, scope='row')
        Text('td', visits)
        for column in columns:
            amount = getattr(most, column)
            Text('td', dollars(amount) if column == 'dollars' and amount is not None else figure(amount))
        Text('td', figure(usual.calls) if usual else '–')

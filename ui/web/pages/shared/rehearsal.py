"""What a rehearsal came to: its findings, its costs, and what of the diagram is never reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from engine.operations.rehearsal import Cost, Figures, Finding, Level, Rehearsal, StateCost
from engine.records import parent_of
from ui.formatting.diagram.overlays import Decoration, Layer, visible_ancestor
from ui.formatting.steps import path_text
from ui.formatting.usage import (
    cost_sentence,
    dollars,
    figure,
    repeats_sentence,
    unbounded_lines,
    usual_sentence,
)
from ui.formatting.values import compact, count
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, Text, table_head

MAX_REASONS = 5
"""Maximum number of reasons listed why there is no bound."""
COLUMNS = ('calls', 'tokens', 'dollars', 'answers')
"""The figures in the table of costs; those that are 0 or have no bound everywhere are left out."""


def draw_findings(rehearsal: Rehearsal, point_to: Callable[[Finding], object]) -> None:
    """Draw what is wrong with a chart; `point_to` shows the place of a finding."""
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
                        place.on('click', partial(point_to, finding))


def _place_of(finding: Finding) -> str:
    """Return the edge or the state of a finding, for people."""
    if not finding.edge:
        return path_text(finding.state)
    trigger, _, ends = finding.edge.partition(': ')
    source, _, dest = ends.partition(' → ')
    ends = f'{path_text(source)} → {path_text(dest)}' if dest else path_text(source)
    return f'{ends} ({trigger.replace("_", " ")})'


def draw_cost(cost: Cost) -> None:
    """Draw what a run costs at most, why there may be no bound, and each state's share."""
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


def rehearsal_layer(rehearsal: Rehearsal, folded: frozenset[str]) -> Layer:
    """Return what is never reached or taken, and the calls of each drawn state at most."""
    states: dict[str, Decoration] = {
        state.path: {'classes': 'heat heat-unreached', 'title': f'{path_text(state.path)}: never reached'}
        for state in rehearsal.states
        if not state.possible and visible_ancestor(state.path, folded) == state.path
    }
    around = {parent_of(state.path) for state in rehearsal.cost.states}
    for state in rehearsal.cost.states:
        if (state.path in folded or state.path not in around) and _is_drawn(state, folded):
            calls = state.most.calls
            states[state.path] = {
                'badge': '∞' if calls is None else compact(round(calls)),
                'title': f'{path_text(state.path)}: {figure(calls)} calls at most',
            }
    names = {f'{edge.source}>{edge.dest or edge.source}': False for edge in rehearsal.edges}
    for edge in rehearsal.edges:
        names[f'{edge.source}>{edge.dest or edge.source}'] |= edge.possible
    edges: dict[str, Decoration] = {
        name: {'classes': 'heat heat-unreached'} for name, possible in names.items() if not possible
    }
    return {'states': states, 'edges': edges}


def _is_drawn(state: StateCost, folded: frozenset[str]) -> bool:
    return state.most.calls != 0 and visible_ancestor(state.path, folded) == state.path

"""Heat on the diagram: shades, widths, badges and words for each of the three questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ui.drawing.overlays import Spot, Spots
from ui.presenters.reading import edge_words, place, span
from ui.presenters.words import compact, count
from ui.traffic.heat import EdgeHeat, Heat, StateHeat

Mode = Literal['often', 'long', 'fails']
MODES: dict[Mode, str] = {'often': 'How often', 'long': 'How long', 'fails': 'Where it fails'}
VALUES: dict[Mode, Callable[[StateHeat], float]] = {
    'often': lambda state: state.visits / state.having if state.having else 0.0,
    'long': lambda state: state.median,
    'fails': lambda state: state.troubled / state.runs if state.runs else 0.0,
}
"""What the shade of a state says."""


def spots(heat: Heat, mode: Mode) -> Spots:
    """What is put on the diagram."""
    hottest, widest = most(heat, mode)
    return {
        'states': {state.path: _state_spot(state, mode, hottest) for state in heat.states},
        'edges': {edge.name: _edge_spot(edge, mode, widest) for edge in heat.edges},
    }


def most(heat: Heat, mode: Mode) -> tuple[float, int]:
    """The greatest value of a state and of an edge, which the scales end at; 0 where there is none."""
    shown = [edge.times for edge in heat.edges if _is_wide(edge, mode)]
    return max(map(VALUES[mode], heat.states), default=0.0), max(shown, default=0)


def _is_wide(edge: EdgeHeat, mode: Mode) -> bool:
    return mode == 'often' or (mode == 'fails' and edge.failing)


def _state_spot(state: StateHeat, mode: Mode, hottest: float) -> Spot:
    if not state.runs:
        return {'classes': 'heat heat-dead', 'badge': '0', 'title': f'{place(state.path)}: never reached'}
    value = VALUES[mode](state)
    spot: Spot = {'classes': f'heat heat-{mode}', 'title': told_state(state)}
    spot['weight'] = round(value / hottest, 3) if hottest else 0.0
    if mode == 'often':
        spot['badge'] = f'{compact(state.visits)}×'
    elif mode == 'long':
        spot['badge'] = span(state.median)
    elif state.troubled:
        spot['badge'] = f'⚠ {compact(state.troubled)}'
    return spot


def _edge_spot(edge: EdgeHeat, mode: Mode, widest: int) -> Spot:
    spot: Spot = {'classes': f'heat heat-{mode}', 'title': told_edge(edge), 'weight': 0.0}
    if not edge.times:
        spot['classes'] = 'heat heat-dead'
    elif _is_wide(edge, mode):
        spot['weight'] = round(edge.times / widest, 3)
        mark = '⚠ ' if mode == 'fails' else ''
        spot['badge'] = f'{mark}{compact(edge.times)}×'
    return spot


def told_state(state: StateHeat) -> str:
    """All that is known of a state, in a sentence or two."""
    found = state.traffic
    if found is None:
        return f'{place(state.path)}: never reached'
    again = f', {count(found.repeated, "run")} came back (at most {found.most} visits)'
    failed = [
        f'failed {found.failed}×' * bool(found.failed),
        f'expired {found.expired}×' * bool(found.expired),
        f'{count(found.fell, "run")} ended in failure here' * bool(found.fell),
    ]
    wrong = ', '.join(filter(None, failed))
    return (
        f'{place(state.path)}: {found.runs:,} of {count(state.having, "run")} were here,'
        f' {found.visits:,}×{again * bool(found.repeated)}.'
        f' Median {span(found.median)}, nine of ten within {span(found.p90)}, in all {span(found.seconds)}.'
        f'{f" {wrong[:1].upper()}{wrong[1:]}." if wrong else ""}'
    )


def told_edge(edge: EdgeHeat) -> str:
    """All that is known of an edge, in a sentence."""
    if not edge.times:
        return f'{edge_words(edge.name)}: never taken'
    return (
        f'{edge_words(edge.name)}: taken {edge.times:,}×, by {count(edge.runs, "run")};'
        f' {percent(edge.share)} of the ways out'
    )


def percent(share: float) -> str:
    """A share as a percentage that is 0 or 100 only where it is exactly that."""
    if 0 < share < 0.01:
        return '<1%'
    return '>99%' if 0.99 < share < 1 else f'{share:.0%}'

"""Heat on the diagram: shades, widths, badges and titles for each mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ui.formatting.diagram.overlays import Decoration, Layer
from ui.formatting.diagram.traffic import EdgeHeat, Heat, StateHeat
from ui.formatting.steps import duration, edge_text, path_text
from ui.formatting.values import compact, count, percent

Mode = Literal['often', 'long', 'fails']
MODES: dict[Mode, str] = {'often': 'Frequency', 'long': 'Duration', 'fails': 'Failures'}
VALUES: dict[Mode, Callable[[StateHeat], float]] = {
    'often': lambda state: state.visits / state.having if state.having else 0.0,
    'long': lambda state: state.median,
    'fails': lambda state: state.troubled / state.runs if state.runs else 0.0,
}
"""The value behind the shade of a state, by mode."""


def heat_layer(heat: Heat, mode: Mode) -> Layer:
    """Return the overlay layer for the diagram."""
    hottest, widest = scale_ends(heat, mode)
    return {
        'states': {state.path: _state_spot(state, mode, hottest) for state in heat.states},
        'edges': {edge.name: _edge_spot(edge, mode, widest) for edge in heat.edges},
    }


def scale_ends(heat: Heat, mode: Mode) -> tuple[float, int]:
    """Return the maximum values of states and edges; 0 if there are none."""
    times = [edge.times for edge in heat.edges if _is_wide(edge, mode)]
    return max(map(VALUES[mode], heat.states), default=0.0), max(times, default=0)


def _is_wide(edge: EdgeHeat, mode: Mode) -> bool:
    return mode == 'often' or (mode == 'fails' and edge.failing)


def _state_spot(state: StateHeat, mode: Mode, hottest: float) -> Decoration:
    if not state.runs:
        return {
            'classes': 'heat heat-unreached',
            'badge': '0',
            'title': f'{path_text(state.path)}: never reached',
        }
    value = VALUES[mode](state)
    decoration: Decoration = {'classes': f'heat heat-{mode}', 'title': describe_state(state)}
    decoration['weight'] = round(value / hottest, 3) if hottest else 0.0
    if mode == 'often':
        decoration['badge'] = f'{compact(state.visits)}×'
    elif mode == 'long':
        decoration['badge'] = duration(state.median)
    elif state.troubled:
        decoration['badge'] = f'⚠ {compact(state.troubled)}'
    return decoration


def _edge_spot(edge: EdgeHeat, mode: Mode, widest: int) -> Decoration:
    decoration: Decoration = {'classes': f'heat heat-{mode}', 'title': describe_edge(edge), 'weight': 0.0}
    if not edge.times:
        decoration['classes'] = 'heat heat-unreached'
    elif _is_wide(edge, mode):
        decoration['weight'] = round(edge.times / widest, 3)
        mark = '⚠ ' if mode == 'fails' else ''
        decoration['badge'] = f'{mark}{compact(edge.times)}×'
    return decoration


def describe_state(state: StateHeat) -> str:
    """Describe a state's numbers in a sentence or two."""
    traffic = state.traffic
    if traffic is None:
        return f'{path_text(state.path)}: never reached'
    again = f', {count(traffic.repeated, "run")} came back (at most {traffic.most} visits)'
    failed = [
        f'failed {traffic.failed}×' * bool(traffic.failed),
        f'expired {traffic.expired}×' * bool(traffic.expired),
        f'{count(traffic.fell, "run")} ended in failure here' * bool(traffic.fell),
    ]
    wrong = ', '.join(filter(None, failed))
    return (
        f'{path_text(state.path)}: {traffic.runs:,} of {count(state.having, "run")} were here,'
        f' {traffic.visits:,}×{again * bool(traffic.repeated)}.'
        f' Median {duration(traffic.median)}, 90th percentile {duration(traffic.p90)},'
        f' total {duration(traffic.seconds)}.'
        f'{f" {wrong[:1].upper()}{wrong[1:]}." if wrong else ""}'
    )


def describe_edge(edge: EdgeHeat) -> str:
    """Describe an edge's numbers in a sentence."""
    if not edge.times:
        return f'{edge_text(edge.name)}: never taken'
    return (
        f'{edge_text(edge.name)}: taken {edge.times:,}×, by {count(edge.runs, "run")};'
        f' {percent(edge.share)} of all exits'
    )

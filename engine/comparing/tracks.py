"""The way a run went, as tracks: that of the run, and one for each region that ran beside others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.path import StatePath, is_active
from engine.records import Shape, Transition

Token = tuple[str, ...]
"""What a step is known by: its event and the edges that it took; not what anybody said."""


@dataclass(slots=True)
class Track:
    """Steps that came one after another, with nothing beside them."""

    region: str
    """Of the states that it goes through; '' for the run itself."""
    steps: list[Transition] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    inside: dict[int, dict[str, Track]] = field(default_factory=dict)
    """Per place of a step that entered parallel states: the tracks of their regions."""
    going_on: bool = False
    """Whether more may come: the run has not ended, and the region has not been left."""


def moves(step: Transition) -> bool:
    """Whether a step is one of the way: it took an edge, or left everything. Others only note something."""
    return bool(step.edges or step.left or step.entered)


def edge_name(source: str, dest: str) -> str:
    """An edge by its ends; an internal one stays where it is."""
    return f'{source}>{dest or source}'


def token_of(step: Transition) -> Token:
    """What a step is known by."""
    return step.event.name, *sorted([edge_name(edge.source, edge.dest) for edge in step.edges])


def tracks(shape: Shape, steps: Iterable[Transition], *, ended: bool) -> Track:
    """The whole way of a run. Where regions run side by side, the order in which they took turns is gone."""
    beside = {state.path for state in shape.states if state.kind == 'parallel'}
    regions: dict[str, list[str]] = {path: [] for path in beside}
    for state in shape.states:
        if state.parent in beside:
            regions[state.parent].append(state.path)
    around = _Around({region for several in regions.values() for region in several})
    root = Track('')
    now: dict[str, Track] = {'': root}
    active: Sequence[StatePath] = ()
    for step in steps:
        active = step.active
        if not moves(step):
            continue
        track = now[next(path for path in around.of(step) if path in now)]
        track.steps.append(step)
        track.tokens.append(token_of(step))
        entered = [region for path in step.entered if path in beside for region in regions[path]]
        if entered:
            fresh = {region: Track(region) for region in entered}
            track.inside[len(track.steps) - 1] = fresh
            now |= fresh
    for path, track in now.items():
        track.going_on = not ended and is_active(StatePath(path), active)
    root.going_on = not ended
    return root


class _Around:
    """The regions that hold all of what a step moved."""

    def __init__(self, regions: set[str]) -> None:
        self._regions = regions
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, step: Transition) -> tuple[str, ...]:
        """Innermost first; the last is '', the run."""
        ends = tuple([end for edge in step.edges for end in (edge.source, edge.dest) if end])
        if ends not in self._known:
            chains = [self._chain(end) for end in ends] or [['']]
            shared = [paths[0] for paths in zip(*chains, strict=False) if len(set(paths)) == 1]
            self._known[ends] = tuple(reversed(shared))
        return self._known[ends]

    def _chain(self, path: str) -> list[str]:
        names = path.split('.')
        paths = ['.'.join(names[:size]) for size in range(1, len(names) + 1)]
        return ['', *(found for found in paths if found in self._regions)]

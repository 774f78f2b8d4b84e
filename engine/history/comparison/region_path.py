"""A run's path through its chart: one for the run, and one for each parallel region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.records import Shape, Transition
from engine.records.shape import StatePath, is_active

Token = tuple[str, ...]
"""Identifies a step by its event and the edges it took, regardless of content."""


@dataclass(slots=True)
class RegionPath:
    """A strictly sequential series of steps: those of the run itself or of one region."""

    region: str
    """The state whose region this is; '' for the run itself."""
    steps: list[Transition] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    inside: dict[int, dict[str, RegionPath]] = field(default_factory=dict)
    """The paths of the regions, by the index of the step that entered them."""
    may_continue: bool = False
    """Whether more steps may follow: neither has the run ended nor the region been left."""


def changes_state(step: Transition) -> bool:
    """Return whether a step took an edge or left every state; other steps only record something."""
    return bool(step.edges or step.left or step.entered)


def edge_name(source: str, dest: str) -> str:
    """Name an edge by its source and destination; an internal edge's destination is its source."""
    return f'{source}>{dest or source}'


def token_of(step: Transition) -> Token:
    """Return the token that identifies a step."""
    return step.event.name, *sorted([edge_name(edge.source, edge.dest) for edge in step.edges])


def region_paths(shape: Shape, steps: Iterable[Transition], *, ended: bool) -> RegionPath:
    """Split a run into region paths, discarding how parallel regions interleaved."""
    parallel = {state.path for state in shape.states if state.kind == 'parallel'}
    regions: dict[str, list[str]] = {path: [] for path in parallel}
    for state in shape.states:
        if state.parent in parallel:
            regions[state.parent].append(state.path)
    enclosing = _EnclosingRegions({region for several in regions.values() for region in several})
    root = RegionPath('')
    now: dict[str, RegionPath] = {'': root}
    active: Sequence[StatePath] = ()
    for step in steps:
        active = step.active
        if not changes_state(step):
            continue
        track = now[next(path for path in enclosing.find(step) if path in now)]
        track.steps.append(step)
        track.tokens.append(token_of(step))
        entered = [region for path in step.entered if path in parallel for region in regions[path]]
        if entered:
            fresh = {region: RegionPath(region) for region in entered}
            track.inside[len(track.steps) - 1] = fresh
            now |= fresh
    for path, track in now.items():
        track.may_continue = not ended and is_active(StatePath(path), active)
    root.may_continue = not ended
    return root


class _EnclosingRegions:
    """Finds the regions that contain both ends of every edge a step took."""

    def __init__(self, regions: set[str]) -> None:
        self._regions = regions
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def find(self, step: Transition) -> tuple[str, ...]:
        """Return the regions, innermost first; the last is '', the run itself."""
        ends = tuple([end for edge in step.edges for end in (edge.source, edge.dest) if end])
        if ends not in self._known:
            chains = [self._chain(end) for end in ends] or [['']]
            shared = [paths[0] for paths in zip(*chains, strict=False) if len(set(paths)) == 1]
            self._known[ends] = tuple(reversed(shared))
        return self._known[ends]

    def _chain(self, path: str) -> list[str]:
        names = path.split('.')
        paths = ['.'.join(names[:size]) for size in range(1, len(names) + 1)]
        return ['', *(region for region in paths if region in self._regions)]

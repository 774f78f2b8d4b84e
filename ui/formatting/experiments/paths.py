"""Where variants part, on a diagram and in a list: how often each went to a state or along an edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.operations.experiments import PathAnswer, PlaceStats, PlaceUse
from ui.formatting.diagram.overlays import Decoration, Layer, aggregate, visible_ancestor, visible_edge
from ui.formatting.experiments.table import MIN_SECONDS
from ui.formatting.steps import duration, edge_text, path_text
from ui.formatting.usage import dollars
from ui.formatting.values import compact, percent

SAME = 1e-9
"""The smallest gap that counts."""
TIMES = '\N{MULTIPLICATION SIGN}'
MAX_LISTED = 40
"""Maximum number of places that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLine:
    """A place where a variant parts from the base."""

    name: str
    """The path of the state, or the name of the edge."""
    title: str
    base: str
    """How often the base went there, in words; `variant` likewise."""
    variant: str
    gap: float
    """From 0 to 1: how far they part there."""
    clear: bool
    """Whether chance alone hardly gives such a gap."""


def place_name(item: PlaceStats) -> str:
    """Return the path of a state, or the name of an edge as in a drawing."""
    place = item.place
    return str(place.source) if place.dest is None else f'{place.source}>{place.dest or place.source}'


def path_lines(
    answer: PathAnswer, base: str, variant: str, folded: frozenset[str] = frozenset()
) -> list[PathLine]:
    """Return where a variant parts from the base, the largest gaps first, without what is drawn folded."""
    lines = [
        line
        for item in answer.places
        if _is_drawn(item, folded) and (line := _line(item, base, variant)).gap > SAME
    ]
    return sorted(lines, key=lambda line: (not line.clear, -line.gap))[:MAX_LISTED]


def _is_drawn(item: PlaceStats, folded: frozenset[str]) -> bool:
    name = place_name(item)
    find = visible_ancestor if item.place.dest is None else visible_edge
    return find(name, folded) == name


def _line(item: PlaceStats, base: str, variant: str) -> PathLine:
    uses = {use.variant: use for use in item.uses}
    parting = next((parting for parting in item.partings if parting.variant == variant), None)
    name = place_name(item)
    return PathLine(
        name=name,
        title=edge_text(name) if item.place.dest is not None else path_text(name),
        base=use_words(uses[base]),
        variant=use_words(uses[variant]),
        gap=parting.gap if parting else 0.0,
        clear=bool(parting and parting.clear),
    )


def use_words(use: PlaceUse) -> str:
    """Return how the runs of a variant used a place: 50 % of runs, 1.5 times."""
    if not use.of:
        return 'no runs'
    share = percent(use.runs / use.of)
    return 'never' if not use.runs else f'{share} of runs, {use.times:.1f}{TIMES}'


def path_layer(answer: PathAnswer, base: str, variant: str, folded: frozenset[str]) -> Layer:
    """Return what a diagram shows of two variants: A is the base, B the variant; gaps make lines wider.

    If both are the same one, it shows how often its runs went where.
    """
    decorate = _decorate_one if base == variant else _decorate
    states: dict[str, Decoration] = {}
    edges: dict[str, list[_Pair]] = {}
    for item in answer.places:
        uses = {use.variant: use for use in item.uses}
        pair = _Pair(uses[base].times, uses[variant].times, _line(item, base, variant).gap)
        name = place_name(item)
        if item.place.dest is None:
            if visible_ancestor(name, folded) == name:
                states[name] = decorate(pair, path_text(name))
        else:
            edges[name] = [pair]
    merged = aggregate(edges, folded, _join, edges=True)
    return {
        'states': {name: decoration for name, decoration in states.items() if decoration},
        'edges': {
            name: decoration
            for name, pairs in merged.items()
            if (decoration := decorate(_sum(pairs), edge_text(name)))
        },
    }


@dataclass(frozen=True, slots=True)
class _Pair:
    """How often runs of the base and of the variant went to a place, on average, and the gap."""

    base: float
    variant: float
    gap: float


def _join(lists: list[list[_Pair]]) -> list[_Pair]:
    return [pair for pairs in lists for pair in pairs]


def _sum(pairs: Iterable[_Pair]) -> _Pair:
    listed = list(pairs)
    return _Pair(
        sum(pair.base for pair in listed),
        sum(pair.variant for pair in listed),
        max(pair.gap for pair in listed),
    )


def _decorate_one(pair: _Pair, title: str) -> Decoration:
    if not pair.base:
        return {}
    times = f'{_short(pair.base)}{TIMES}'
    return {'classes': 'path-both', 'title': f'{title}: {pair.base:.2f} times a run', 'badge': times}


def _decorate(pair: _Pair, title: str) -> Decoration:
    if not pair.base and not pair.variant:
        return {}
    kind = 'path-both' if pair.base and pair.variant else 'path-a' if pair.base else 'path-b'
    differs = pair.gap > SAME
    decoration: Decoration = {
        'classes': f'{kind} parting' if differs else kind,
        'title': f'{title}: {pair.base:.2f} times a run in A, {pair.variant:.2f} in B',
        'weight': round(pair.gap, 3),
    }
    if differs:
        decoration['badge'] = f'{_short(pair.base)}→{_short(pair.variant)}{TIMES}'
    return decoration


def _short(times: float) -> str:
    return f'{times:.1f}'.removesuffix('.0')


def state_uses(answer: PathAnswer) -> list[tuple[str, Mapping[str, PlaceUse]]]:
    """Return what runs use in each leaf state by variant: the longest first; none that uses nothing."""
    used = {
        str(item.place.source): {use.variant: use for use in item.uses}
        for item in answer.places
        if item.place.dest is None
    }
    leaves = [path for path in used if not any(other.startswith(f'{path}.') for other in used)]
    rows = [(path, used[path]) for path in leaves if any(amount_words(use) for use in used[path].values())]
    return sorted(rows, key=lambda row: -max(use.seconds or 0.0 for use in row[1].values()))


def amount_words(use: PlaceUse) -> str:
    """Return cost, tokens and time of a run in a state, if any: $0.0042 · 1.2k tokens · 3.0 s."""
    tokens = round(use.tokens or 0.0)
    words = [
        'cost unknown' if use.dollars is None and tokens else dollars(use.dollars) if use.dollars else '',
        f'{compact(tokens)} {"token" if tokens == 1 else "tokens"}' if tokens else '',
        duration(seconds) if (seconds := use.seconds or 0.0) >= MIN_SECONDS else '',
    ]
    return ' · '.join(filter(None, words))

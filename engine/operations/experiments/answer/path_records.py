"""Records of where the runs of variants went, for a diagram."""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import PathStats, StatePath


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPath:
    """A run: where it went, and what it scored."""

    case: str
    variant: str
    score: float | None
    stats: PathStats


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A state, or an edge to `dest`, which is '' for an internal one."""

    source: StatePath
    dest: str | None = None

    def __str__(self) -> str:
        return f'`{self.source}`' if self.dest is None else f'`{self.source}` to `{self.dest or self.source}`'


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceUse:
    """How the runs of one variant used a place."""

    variant: str
    runs: int
    """How many of its runs went there, out of `of`."""
    of: int
    times: float
    """How often a run went there: mean of all its runs."""
    seconds: float | None
    """Running time of a run in the state: mean of all its runs; None for an edge."""
    tokens: float | None
    """What a run's calls of models in the state have used: mean of all its runs; None for an edge."""
    dollars: float | None
    """What they cost; None for an edge, or if part of it is unknown."""
    score: float | None
    """Mean score of the runs that went there; `other_score` of those that did not."""
    other_score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """How far the paths of a variant part from those of the base at a place."""

    variant: str
    gap: float
    """From 0 to 1: the share of runs that would have to use the place more or less often for the variants to
    be alike there (total variation distance, over cases that both ran)."""
    adjusted_p: float
    """How often chance alone gives such a gap, if one looks at all places of all variants (Holm)."""
    clear: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceStats:
    """A place, how each variant used it, and where they part."""

    place: Place
    uses: tuple[PlaceUse, ...]
    """The base first."""
    partings: tuple[Parting, ...]

    @property
    def gap(self) -> float:
        """The largest gap of a variant."""
        return max((parting.gap for parting in self.partings), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayEffect:
    """What runs of a variant scored that went a certain way, against its others. The way need not be why."""

    variant: str
    place: Place
    at_least: int
    """How often they went there."""
    runs: int
    others: int
    difference: float
    low: float
    """From `low` to `high`: 95 % bootstrap interval over cases."""
    high: float
    adjusted_p: float
    same_cases: bool
    """Whether both kinds of runs are of the same cases; if not, it may be the cases that differ."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathAnswer:
    """Where the paths of variants part, and what the runs scored that went there."""

    places: tuple[PlaceStats, ...]
    """Where variants part most comes first."""
    effects: tuple[WayEffect, ...]
    """Those that are clear, the largest first."""

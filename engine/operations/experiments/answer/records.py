"""What an experiment's answer is made from, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import InvalidInput
from engine.records import Instant

Standing = Literal['better', 'worse', 'unclear', 'open', 'nothing']
"""How a variant compares with the base: `unclear` is a result, `open` has runs to come, `nothing` has no case
that both were scored on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is compared: the scores of one scorer."""

    name: str
    lower_is_better: bool = False
    worth: float | None = None
    """The smallest difference that matters; by default a twentieth of the scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What was planned before the first run: what may be concluded depends on it."""

    base: str
    """The variant that the others are compared with."""
    variants: tuple[str, ...]
    """The others."""
    measures: tuple[Measure, ...]
    """The first is the main one, which decides."""
    cases: int
    repeats: int = 1
    """Runs of each case by each variant."""
    early_stop: bool = False
    """Whether a variant is not run further once its difference is clear."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What variants are called in sentences; by default their names, quoted."""

    def __post_init__(self) -> None:
        """Raise `InvalidInput`, naming the field, for a design that compares nothing."""
        problems: dict[str, str] = {}
        names = (self.base, *self.variants)
        if len(set(names)) < len(names):
            problems['variants'] = f'each needs a name of its own, not {", ".join(names)}'
        measures = [measure.name for measure in self.measures]
        if not measures or len(set(measures)) < len(measures):
            problems['measures'] = (
                f'at least one, each with its own name, not {", ".join(measures) or "none"}'
            )
        for name in ('cases', 'repeats'):
            if getattr(self, name) < (name == 'repeats'):
                problems[name] = f'must be {int(name == "repeats")} or more, not {getattr(self, name)}'
        if problems:
            raise InvalidInput(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """A run that has ended: one repeat of a case by a variant."""

    case: str
    variant: str
    repeat: int = 0
    failed: bool = False
    """Whether the run failed; then it has scores only of scorers that judge failures."""
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """By measure; None, or a number that is not finite, is not scored."""
    dollars: float | None = None
    tokens: int = 0
    seconds: float = 0.0
    ended: Instant = 0.0
    """When it had ended and was scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSummary:
    """The scores of one variant by one measure."""

    measure: str
    cases: int
    """Cases with a score."""
    not_scored: int
    """Runs that did not fail and have no score."""
    mean: float | None
    """Over cases, each the mean of its repeats."""
    spread: float | None
    """Standard deviation between repeats of the same case; None without repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantSummary:
    """What the runs of one variant were like. Dollars, tokens and seconds are means of a run."""

    variant: str
    runs: int
    failed: int
    scores: tuple[ScoreSummary, ...]
    dollars: float | None
    """None if the cost of a run is not known."""
    tokens: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """A variant against the base by one measure, over the cases that both were scored on."""

    measure: str
    variant: str
    cases: int
    left_out: int
    """Cases that both have run, and one of them failed or was not scored."""
    difference: float | None = None
    """Mean over cases of the variant's score less the base's."""
    low: float | None = None
    """From `low` to `high`: 95 % bootstrap interval of the difference."""
    high: float | None = None
    p: float | None = None
    """How often chance alone gives such a difference, valid at any time if `settled`; None while open."""
    adjusted_p: float | None = None
    """The same for all variants together (Holm)."""
    settled: bool = False
    """Whether it was clear before all its runs had ended."""
    standing: Standing
    cost_ratio: float | None = None
    """Dollars of the variant's runs per dollar of the base's, on cases that both have run."""
    worth: float | None = None
    """The difference that `cases_needed` is for."""
    cases_needed: int | None = None
    """Cases with which such a difference would be found in 80 % of experiments."""
    text: str = ''
    """The comparison as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """A version of a workflow in a series of them."""

    version: str
    cases: int
    mean: float
    low: float
    """From `low` to `high`: 95 % bootstrap interval of the mean over cases."""
    high: float
    change: float | None
    """From the version before, on the cases that both were scored on; None if there are none."""
    change_low: float | None
    change_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an experiment says."""

    variants: tuple[VariantSummary, ...]
    """The base first."""
    comparisons: tuple[VariantComparison, ...]
    """By measure, the main one first, then by variant. P values are adjusted within a measure."""
    best: str
    """The variant that is clearly better than the base, and by most; '' if none is."""
    text: str
    """The main measure's comparisons in words."""

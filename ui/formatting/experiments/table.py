"""The table of an experiment: a row for each case, a tally of runs for each variant, kept up to date."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, Literal

from engine.operations.experiments import Cell, Direction
from engine.records import RunId, Status
from ui.formatting.steps import duration
from ui.formatting.usage import dollars

Show = Literal['all', 'differ', 'worse', 'failed', 'unscored', 'running']
SHOWN: Mapping[str, str] = {
    'all': 'All cases',
    'differ': 'Scores differ',
    'worse': 'Worse than the first',
    'failed': 'With failed runs',
    'unscored': 'Not scored',
    'running': 'Running',
}
"""Which cases the table shows."""
DISAGREEMENT, BY_CASE = 'disagreement', 'case'
"""How it is sorted; otherwise by the scores of a variant, whose name follows `score:`."""
SCORE = 'score:'
MIN_SECONDS = 0.05
"""The shortest time that is worth showing."""
MINUS = '\N{MINUS SIGN}'


@dataclass(slots=True)
class RunLine:
    """What the table keeps of a run, without what is read when its cell is opened."""

    run: RunId
    repeat: int
    state: str
    status: Status | None
    scores: dict[str, float | None]
    waits: frozenset[str]
    dollars: float | None
    seconds: float
    tokens: int
    reused: bool

    @classmethod
    def of(cls, cell: Cell) -> RunLine:
        """Return it for a cell."""
        return cls(
            run=cell.run,
            repeat=cell.repeat,
            state=cell.state,
            status=cell.status,
            scores={name: score.value for name, score in cell.scores.items()},
            waits=frozenset(name for name, score in cell.scores.items() if score.waits),
            dollars=cell.dollars,
            seconds=cell.seconds,
            tokens=cell.tokens,
            reused=cell.reused,
        )

    @property
    def has_failed(self) -> bool:
        """Whether it ended without a result, or has stopped because nothing more is recorded."""
        return self.status not in (None, Status.DONE)

    def kind(self, scorer: str) -> Literal['running', 'scored', 'failed', 'waits', 'unscored']:
        """Return how it stands by a scorer; one that scores failures makes a failed run a scored one."""
        if self.state == 'running':
            return 'running'
        if self.scores.get(scorer) is not None:
            return 'scored'
        if self.has_failed:
            return 'failed'
        return 'waits' if self.state != 'scored' or scorer in self.waits else 'unscored'


@dataclass(slots=True)
class CellLine:
    """The runs of one case by one variant."""

    runs: dict[int, RunLine] = field(default_factory=dict)
    """By repeat."""

    def scores(self, scorer: str) -> list[float]:
        """Return the scores of those that have one."""
        values = (line.scores.get(scorer) for line in self.runs.values())
        return [value for value in values if value is not None]

    def mean(self, scorer: str) -> float | None:
        """Return the mean over repeats; None if none is scored."""
        scores = self.scores(scorer)
        return fmean(scores) if scores else None

    def kinds(self, scorer: str) -> Counter[str]:
        """Count its runs by how they stand; those that failed are there even if they are scored."""
        counts: Counter[str] = Counter(line.kind(scorer) for line in self.runs.values())
        counts['failed'] = sum(line.has_failed for line in self.runs.values())
        return counts

    @property
    def dollars(self) -> float | None:
        """Mean cost of a run that has ended; None if it is not known."""
        costs = [line.dollars for line in self.runs.values() if line.state != 'running']
        known = [cost for cost in costs if cost is not None]
        return fmean(known) if known and len(known) == len(costs) else None

    @property
    def seconds(self) -> float | None:
        """Mean time of a run that has ended."""
        times = [line.seconds for line in self.runs.values() if line.state != 'running']
        return fmean(times) if times else None


class CellTable:
    """All runs of an experiment by case and variant. Thousands of cells: only what changes is touched."""

    def __init__(self, variants: Sequence[str], scorers: Mapping[str, Direction], repeats: int) -> None:
        """Start empty; the first variant and the first scorer are those that decide."""
        self.variants, self.scorers, self.repeats = tuple(variants), dict(scorers), repeats
        self.scorer = next(iter(scorers), '')
        """The scorer whose scores are shown."""
        self.rows: dict[str, dict[str, CellLine]] = {}
        """By case, in the order in which their first runs began."""
        self.places: dict[str, int] = {}
        """By case, its place in the dataset, if that is known."""
        self.cursor = 0.0
        self.running: dict[str, Cell] = {}
        """The runs under way, by cell."""

    def add(self, cells: Iterable[Cell]) -> set[str]:
        """Take in new and changed cells; return their cases."""
        changed = set()
        for cell in cells:
            row = self.rows.setdefault(cell.case, {})
            row.setdefault(cell.variant, CellLine()).runs[cell.repeat] = RunLine.of(cell)
            if cell.state == 'running':
                self.running[cell.id] = cell
            else:
                self.running.pop(cell.id, None)
            self.cursor = max(self.cursor, cell.changed)
            changed.add(cell.case)
        return changed

    def sample_runs(self) -> list[RunId]:
        """Return a run of each variant that has ended."""
        samples: dict[str, RunId] = {}
        for row in self.rows.values():
            for variant, cell in row.items():
                ended = (line.run for line in cell.runs.values() if line.run and line.state == 'scored')
                if variant not in samples and (run := next(ended, None)):
                    samples[variant] = run
            if len(samples) == len(self.variants):
                break
        return list(samples.values())

    def runs(self) -> Iterable[RunLine]:
        """Yield all runs."""
        for row in self.rows.values():
            for cell in row.values():
                yield from cell.runs.values()

    def means(self, case: str) -> dict[str, float]:
        """Return the mean scores of a case by variant, without those that have none."""
        cells = self.rows.get(case, {})
        means = {name: cells[name].mean(self.scorer) for name in self.variants if name in cells}
        return {name: mean for name, mean in means.items() if mean is not None}

    def disagreement(self, case: str) -> float:
        """Return how far apart the variants' scores of a case are."""
        means = self.means(case).values()
        return max(means) - min(means) if means else 0.0

    def order(self, sort: str = BY_CASE, show: Show = 'all', text: str = '') -> list[str]:
        """Return the cases to show, in order: the best or the most telling first, what has no score last."""
        folded = text.strip().casefold()
        cases = [case for case in self.rows if folded in case.casefold() and self._is_shown(case, show)]
        cases.sort(key=lambda case: self.places.get(case, len(self.places)))
        if sort == DISAGREEMENT:
            return sorted(cases, key=self.disagreement, reverse=True)
        if sort.startswith(SCORE):
            variant, sign = sort.removeprefix(SCORE), -1 if self.is_higher_better else 1
            means = {case: self.means(case).get(variant, sign * math.inf) for case in cases}
            return sorted(cases, key=lambda case: sign * means[case])
        return cases

    @property
    def is_higher_better(self) -> bool:
        """Whether higher scores are better."""
        return self.scorers.get(self.scorer, 'higher') == 'higher'

    def gain(self, case: str, variant: str) -> float | None:
        """Return how much better than the first variant it was on a case; negative if it was worse."""
        means = self.means(case)
        if variant == self.variants[0] or not {variant, self.variants[0]} <= means.keys():
            return None
        gain = means[variant] - means[self.variants[0]]
        return gain if self.is_higher_better else -gain

    def _is_shown(self, case: str, show: Show) -> bool:
        if show == 'differ':
            return self.disagreement(case) > 0
        if show == 'worse':
            return any((self.gain(case, name) or 0.0) < 0 for name in self.variants)
        if show == 'all':
            return True
        return any(cell.kinds(self.scorer)[show] for cell in self.rows[case].values())

    def lines(self, cases: Iterable[str]) -> list[list[Any]]:
        """Return rows as the page draws them: the case, then for each variant its parts (`_parts`)."""
        return [[case, *(self._parts(case, name) for name in self.variants)] for case in cases]

    def _parts(self, case: str, variant: str) -> list[Any]:
        """Return a cell: score, gain, its tone, spread, cost and time, what is apart, share of a full bar."""
        cell = self.rows[case].get(variant)
        if cell is None:
            return []
        scores, gain = cell.scores(self.scorer), self.gain(case, variant)
        mean = fmean(scores) if scores else None
        spread = f'±{figure(deviation)}' if len(scores) > 1 and (deviation := stdev(scores)) else ''
        spent = [
            dollars(cell.dollars) if cell.dollars else '',
            duration(seconds) if (seconds := cell.seconds or 0.0) >= MIN_SECONDS else '',
        ]
        tone = '' if not gain else 'up' if gain > 0 else 'down'
        shown_gain = '' if mean is None or not gain else signed(mean - self.means(case)[self.variants[0]])
        return [
            '' if mean is None else figure(mean),
            shown_gain,
            tone,
            spread,
            ' · '.join(filter(None, spent)),
            self._apart(cell),
            None if mean is None or not 0 <= mean <= 1 else round(mean, 3),
        ]

    def _apart(self, cell: CellLine) -> list[list[str]]:
        """Return what is no score, as pairs of a style and a text: how many runs have failed, for example."""
        kinds = cell.kinds(self.scorer)
        several = self.repeats > 1
        words = {'running': 'running', 'failed': 'failed', 'waits': 'to be scored', 'unscored': 'not scored'}
        return [
            [kind, f'{kinds[kind]} {word}' if several else word.capitalize()]
            for kind, word in words.items()
            if kinds[kind]
        ]


def figure(score: float) -> str:
    """Return a score as people read it: 0.83, 12.5, 240; a small one with two figures."""
    if not math.isfinite(score) or score == round(score):
        return f'{score:,.0f}'
    size = abs(score)
    decimals = (
        0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 1 - math.floor(math.log10(size))
    )
    return f'{score:,.{min(9, decimals)}f}'


def signed(difference: float) -> str:
    """Return a difference with its sign; 0 has none."""
    return figure(0) if not difference else ('+' if difference > 0 else MINUS) + figure(abs(difference))

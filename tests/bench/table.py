"""Rows of the table: what was measured, the baseline, the target, and whether it is met."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

SECTION = re.compile(r'(?<=<!-- bench -->\n).*?(?=<!-- /bench -->)', re.DOTALL)
"""The rows in README.md."""
README_ROWS = (
    'activity, 1 run × 100 steps',
    'activity, 1 run × 1,000 steps',
    'activity, 100 runs × 20 steps',
    'activity, 1,000 runs × 20 steps',
    'activity, 1 run × 100 steps, vs. the fastest peer',
    'activity, 100 runs × 20 steps, vs. the fastest peer',
    'step from journal to DOM, 4 panes, p95',
    'run of 100,002 steps, bounded memory: opening its page',
)
"""The rows that the README shows, against a peer or a limit; the missed targets are among them."""
HEAD = ('benchmark', 'measured', 'against', 'ratio', 'target', 'met')


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    name: str
    value: float
    unit: str
    base: float | None = None
    """What it is compared with, in the same unit; the ratio is theirs."""
    against: str = ''
    target: float | None = None
    """The maximum of the ratio, or of the value if there is no base; None is for information only."""
    ratio: float | None = None
    """The median of the rounds' ratios, where it is not simply value over base."""
    details: dict[str, float] = field(default_factory=dict)
    """For the JSON: CPU time, percentiles, sizes."""

    @property
    def quotient(self) -> float | None:
        """Measured over base."""
        return self.ratio if self.ratio is not None else self.value / self.base if self.base else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        measured = self.quotient if self.quotient is not None else self.value
        return None if self.target is None else measured <= self.target

    def cells(self, *, verdict: bool) -> tuple[str, ...]:
        """As texts, in the order of `HEAD`."""
        against = f'{self.against} {format_value(self.base, self.unit)}' if self.base else self.against
        target = (
            ''
            if self.target is None
            else f'{self.target:g}×'
            if self.base
            else format_value(self.target, self.unit)
        )
        ratio = '' if self.quotient is None else f'{self.quotient:.2f}×'
        met = '' if self.met is None or not verdict else 'yes' if self.met else 'NO'
        return (self.name, format_value(self.value, self.unit), against.strip(), ratio, target, met)

    def record(self) -> dict[str, object]:
        """For the JSON file."""
        return {
            'name': self.name,
            'value': self.value,
            'unit': self.unit,
            'base': self.base,
            'against': self.against,
            'ratio': self.quotient,
            'target': self.target,
            'met': self.met,
            'details': self.details,
        }


def format_value(value: float, unit: str) -> str:
    """Format a number with its unit, to three digits."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f'{value:,.{digits}f} {unit}'


def text(rows: Sequence[Row], *, verdict: bool) -> str:
    """The table for a terminal."""
    lines = [HEAD, *(row.cells(verdict=verdict) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return '\n'.join(
        '  '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(rows: Sequence[Row], *, verdict: bool) -> str:
    """The table for a document."""
    lines = [HEAD, tuple('---' for _ in HEAD), *(row.cells(verdict=verdict) for row in rows)]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def report(rows: Sequence[Row], line: str) -> str:
    """The whole of assets/BENCHMARKS.md; `line` says when and where they were measured."""
    missed = ''.join(f'- {row.name}\n' for row in rows if row.met is False)
    verdict = f'{_count_met(rows)}. Missed:\n\n{missed}' if missed else f'{_count_met(rows)}.\n'
    intro = 'Written by `make bench`. Both sides of a ratio are measured alternately in one run.'
    return f'# Benchmarks\n\n{intro}\n\n{line}\n\n{verdict}\n{markdown(rows, verdict=True)}\n'


def update_readme(readme: str, rows: Sequence[Row]) -> str:
    """Replace the README's rows by those of this table."""
    by_name = {row.name: row for row in rows}
    shown = markdown([by_name[name] for name in README_ROWS], verdict=True)
    table = f'{shown}\n\n{_count_met(rows)}: [all figures](assets/BENCHMARKS.md).\n'
    return SECTION.sub(lambda _: table, readme, count=1)


def _count_met(rows: Sequence[Row]) -> str:
    verdicts = [row.met for row in rows if row.met is not None]
    return f'{sum(verdicts)} of {len(verdicts)} targets met'


def machine() -> dict[str, object]:
    """The machine and versions of the measurement."""
    return {
        'cores': len(os.sched_getaffinity(0)),
        'processor': platform.machine(),
        'system': f'{platform.system()} {platform.release().partition("-")[0]}',
        'python': platform.python_version(),
        'sqlite': sqlite3.sqlite_version,
        'transitions': version('transitions'),
        'nicegui': version('nicegui'),
        'load': os.getloadavg()[0],
    }


def note(facts: dict[str, object]) -> str:
    """The machine in one line."""
    return (
        f'{facts["cores"]} cores ({facts["processor"]}, {facts["system"]}), Python {facts["python"]}, SQLite'
        f' {facts["sqlite"]}, transitions {facts["transitions"]}, NiceGUI {facts["nicegui"]},'
        f' {facts["loop"]}, load {facts["load"]:.1f} at the start'
    )

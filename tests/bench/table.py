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
"""The table in README.md."""
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
    """The table for the README."""
    lines = [HEAD, tuple('---' for _ in HEAD), *(row.cells(verdict=verdict) for row in rows)]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def replace_table(readme: str, rows: Sequence[Row], line: str) -> str:
    """Put this table in place of the README's own, collapsed since it is long."""
    over = [row.name for row in rows if row.met is False]
    targets = sum(row.target is not None for row in rows)
    summary = f'{targets - len(over)} of {targets} targets met'
    table = (
        f'{line}\n\n<details>\n<summary>{summary}</summary>\n\n{markdown(rows, verdict=True)}\n\n</details>\n'
    )
    return SECTION.sub(lambda _: table, readme, count=1)


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

"""Rows of the table: what was measured, the baseline, the limit, and whether it holds."""

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
HEAD = ('benchmark', 'measured', 'against', 'ratio', 'bar', 'holds')


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    name: str
    value: float
    unit: str
    base: float | None = None
    """What it is compared with, in the same unit; the ratio is theirs."""
    against: str = ''
    bar: float | None = None
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
    def holds(self) -> bool | None:
        """Whether the limit holds; None without one."""
        measured = self.quotient if self.quotient is not None else self.value
        return None if self.bar is None else measured <= self.bar

    def cells(self, *, verdict: bool) -> tuple[str, ...]:
        """As texts, in the order of `HEAD`."""
        against = f'{self.against} {format_value(self.base, self.unit)}' if self.base else self.against
        bar = '' if self.bar is None else f'{self.bar:g}×' if self.base else format_value(self.bar, self.unit)
        ratio = '' if self.quotient is None else f'{self.quotient:.2f}×'
        holds = '' if self.holds is None or not verdict else 'yes' if self.holds else 'NO'
        return (self.name, format_value(self.value, self.unit), against.strip(), ratio, bar, holds)

    def record(self) -> dict[str, object]:
        """For the JSON file."""
        return {
            'name': self.name,
            'value': self.value,
            'unit': self.unit,
            'base': self.base,
            'against': self.against,
            'ratio': self.quotient,
            'bar': self.bar,
            'holds': self.holds,
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
    over = [row.name for row in rows if row.holds is False]
    bars = sum(row.bar is not None for row in rows)
    held = f'{bars - len(over)} of {bars} bars hold'
    table = (
        f'{line}\n\n<details>\n<summary>{held}</summary>\n\n{markdown(rows, verdict=True)}\n\n</details>\n'
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


def note(found: dict[str, object]) -> str:
    """The machine in one line."""
    return (
        f'{found["cores"]} cores ({found["processor"]}, {found["system"]}), Python {found["python"]}, SQLite'
        f' {found["sqlite"]}, transitions {found["transitions"]}, NiceGUI {found["nicegui"]},'
        f' {found["loop"]}, load {found["load"]:.1f} at the start'
    )

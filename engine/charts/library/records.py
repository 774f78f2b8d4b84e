"""What callers see of the charts on this machine."""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import Fault, Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartVersion:
    """One version of a chart."""

    version: str
    """What its text hashes to."""
    number: int
    """Its number among the versions of the chart, from 1."""
    saved: Instant
    author: str = ''
    """The account that saved it; '' without logins, and if the file was edited elsewhere."""
    note: str = ''
    """What its author says about it."""
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartInfo:
    """A chart: the version that new runs have, and what is wrong with its file."""

    name: str
    title: str = ''
    summary: str = ''
    version: ChartVersion | None = None
    """None if it was removed, or if its file has never been right."""
    faults: tuple[Fault, ...] = ()
    """Why its file cannot be used; the last good version is used instead."""
    removed: bool = False
    """Whether its file was removed; its versions are kept."""
    folder: str = ''
    """The folder of one's own patterns that it is in; it cannot be saved here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartText:
    """The text of a chart, or of one of its versions."""

    name: str
    text: str
    version: str
    """What it hashes to, which is also what a writer says to have seen."""
    saved: ChartVersion | None = None
    """None if it is in the file but is no version, since something is wrong with it."""

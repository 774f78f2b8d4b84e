"""Charting: charts that are files, and their versions."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from engine.charts.library import ChartInfo, ChartText, ChartVersion
from engine.operations.rehearsal import Finding
from engine.operations.table import Role, operation
from engine.records import MAX_VERSION, Shape

MAX_TEXT = 262_144
MAX_NOTE = 500
Name = Annotated[str, Field(max_length=200, description='The name of a chart.')]
Text = Annotated[str, Field(max_length=MAX_TEXT, description='The text of a chart: YAML or JSON.')]
Version = Annotated[str, Field(max_length=MAX_VERSION, description='A version of it, or its number.')]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartProblem:
    """What is wrong with a text."""

    line: int
    """From 1; 0 if no line is to blame."""
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartCheck:
    """What a text is as a chart."""

    problems: tuple[ChartProblem, ...] = ()
    """What is wrong, by line; without any it can be saved and run."""
    shape: Shape | None = None
    """Its states and edges, if nothing is wrong."""
    findings: tuple[Finding, ...] = ()
    """What its author should know about it."""


class Charting(Protocol):
    """Charts that are files. All of one chart raise `UnknownPattern` if it is not there."""

    @operation(Role.VIEWER, 'GET charts', id='list_charts')
    async def list(self) -> list[ChartInfo]:
        """List the charts that are files, with what is wrong with them; the removed ones last."""

    @operation(Role.VIEWER, 'GET charts/{name}', id='get_chart')
    async def get(self, name: Name, version: Version = '') -> ChartText:
        """Show the text in a chart's file, or that of one of its versions."""

    @operation(Role.VIEWER, 'POST chart-check', id='check_chart')
    async def check(self, text: Text, name: Name = '') -> ChartCheck:
        """Check a text without saving it: what is wrong by line, its chart, and what a rehearsal finds.

        With a name, the chart has to be called that.
        """

    @operation(Role.VIEWER, 'GET charts/{name}/versions', id='list_chart_versions')
    async def versions(self, name: Name) -> builtins.list[ChartVersion]:
        """List the versions of a chart, the newest first, also if it was removed."""

    @operation(Role.OPERATOR, 'PUT charts/{name}', id='save_chart')
    async def save(
        self,
        name: Name,
        text: Text,
        *,
        base: Annotated[
            str,
            Field(
                max_length=MAX_VERSION,
                description='The version that is in the file, as far as the writer knows; empty for a new'
                ' chart. If somebody has changed it since, nothing is saved.',
            ),
        ] = '',
        note: Annotated[str, Field(max_length=MAX_NOTE, description='What has changed, for people.')] = '',
    ) -> ChartVersion:
        """Save a chart as a new version, which new runs have from then on.

        Raises:
            InvalidInput: names each line that is wrong.
            EntryChanged: somebody else has changed it since `base`.
        """

    @operation(Role.OPERATOR, 'POST charts/{name}/restore', id='restore_chart')
    async def restore(self, name: Name, version: Version) -> ChartVersion:
        """Make an earlier version current again, also of a chart that was removed.

        Raises:
            UnknownVersion
            InvalidInput: it can no longer be used, by line.
        """

    @operation(Role.OPERATOR, 'DELETE charts/{name}', id='remove_chart')
    async def remove(self, name: Name) -> None:
        """Remove a chart; its versions stay, and its runs go on."""

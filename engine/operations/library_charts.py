"""LibraryCharts: the charts on this machine as callers read, check and save them."""

from __future__ import annotations

import asyncio
import builtins

from engine.charts import load_chart
from engine.charts.library import ChartInfo, ChartLibrary, ChartText, ChartVersion, by_line
from engine.errors import InvalidInput, PatternError, UnknownPattern
from engine.operations.charting import ChartCheck, ChartProblem
from engine.operations.rehearsal import rehearse
from engine.runtime import ACTOR
from engine.statechart.shape_builder import build_shape


class LibraryCharts:
    """The charts of a library; files are read and written in threads. See `Charting`."""

    def __init__(self, library: ChartLibrary) -> None:
        self._library = library

    async def list(self) -> builtins.list[ChartInfo]:
        """List all charts."""
        await self._library.refresh()
        return await asyncio.to_thread(self._library.charts)

    async def get(self, name: str, version: str = '') -> ChartText:
        """Return the text of a chart. Raises `UnknownPattern`, `InvalidInput`."""
        await self._library.refresh()
        return await asyncio.to_thread(self._library.read, name, version)

    async def check(self, text: str, name: str = '') -> ChartCheck:
        """Check a text without saving it."""
        return await asyncio.to_thread(self._check, text, name)

    async def versions(self, name: str) -> builtins.list[ChartVersion]:
        """Return the versions of a chart, the newest first. Raises `UnknownPattern`, `InvalidInput`."""
        await self._library.refresh()
        versions = await asyncio.to_thread(self._library.files.versions, name)
        if not versions:
            raise UnknownPattern(name)
        return [*reversed(versions)]

    async def save(self, name: str, text: str, *, base: str = '', note: str = '') -> ChartVersion:
        """Save a chart. Raises `InvalidInput`, `EntryChanged`."""
        return await self._save(name, text, base, note)

    async def restore(self, name: str, version: str) -> ChartVersion:
        """Make an earlier version current again. Raises `UnknownVersion`, `InvalidInput`."""
        earlier = await self.get(name, version)
        return await self._save(name, earlier.text, None)

    async def remove(self, name: str) -> None:
        """Remove a chart. Raises `UnknownPattern`, `InvalidInput`."""
        await asyncio.to_thread(self._library.remove, name)
        await self._library.refresh()

    async def _save(self, name: str, text: str, base: str | None, note: str = '') -> ChartVersion:
        saved = await asyncio.to_thread(
            self._library.save, name, text, base=base, author=ACTOR.get(), note=note.strip()
        )
        await self._library.refresh()
        return saved

    @staticmethod
    def _check(text: str, name: str) -> ChartCheck:
        try:
            workflow = load_chart(text, name=name and f'{name}.chart.yaml').sample()
            return ChartCheck(shape=build_shape(workflow), findings=rehearse(workflow, seconds=0.0).findings)
        except InvalidInput as error:
            problems = by_line(error.problems).items()
            return ChartCheck(
                problems=tuple(ChartProblem(line=line, problem=problem) for line, problem in problems)
            )
        except PatternError as error:
            return ChartCheck(problems=(ChartProblem(line=0, problem=str(error)),))

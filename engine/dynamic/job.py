"""Jobs: an agent's work as a thing that can be watched, cancelled and read. A thin view of runs."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from engine.conductor import Conductor
from engine.feed import Item
from engine.options import Options
from engine.records import Outcome, RunId, RunInfo, RunQuery, View


@dataclass(frozen=True, slots=True)
class Job:
    """One run of an agent. It goes on whether or not anybody looks at it."""

    id: RunId
    conductor: Conductor

    async def info(self) -> RunInfo:
        """Its status, and what is known of it without its history. Raises `UnknownRun`."""
        return await self.conductor.info(self.id)

    async def view(self) -> View:
        """Where it stands now: memory, conversations, artifacts, criteria. Raises `UnknownRun`."""
        return await self.conductor.view(self.id)

    def watch(self) -> AsyncIterator[Item]:
        """Its steps from the first on, and streamed text; ends with it. Raises `UnknownRun`."""
        return self.conductor.watch(self.id)

    async def result(self) -> Outcome:
        """Wait until it has ended. Raises `UnknownRun`."""
        return await self.conductor.result(self.id)

    async def cancel(self, reason: str = '') -> None:
        """Stop it for good. Raises `EventRefused` where it has ended."""
        await self.conductor.cancel(self.id, reason)


class Agent:
    """A pattern as an agent: it takes an input, and gives a job at once.

    Args:
        conductor: what runs it.
        name: the pattern's name. Raises `UnknownPattern`.
    """

    def __init__(self, conductor: Conductor, name: str) -> None:
        made = conductor.catalog.pattern(name)
        self.conductor, self.name, self.description = conductor, made.name, made.summary

    async def execute(
        self, input: Mapping[str, Any], *, models: Mapping[str, str] | None = None, **options: Unpack[Options]
    ) -> Job:
        """Start the work. It is journaled when this returns, and goes on by itself.

        Args:
            input: values for the pattern's parameters.
            models: model name per role; the key '' is the default.
            options: how it runs.

        Raises:
            InvalidInput, JournalError
        """
        run = await self.conductor.start(self.name, input, models=models, **options)
        return Job(run, self.conductor)

    async def jobs(self) -> list[Job]:
        """Its latest jobs, the newest first."""
        page = await self.conductor.runs(RunQuery(pattern=self.name))
        return [Job(info.id, self.conductor) for info in page.runs]


class BlogOrchestratorAgent(Agent):
    """Deprecated: it is `Agent(conductor, 'blog')`, and warns."""

    def __init__(self, conductor: Conductor) -> None:
        super().__init__(conductor, 'blog')

    async def execute(
        self, input: Mapping[str, Any], *, models: Mapping[str, str] | None = None, **options: Unpack[Options]
    ) -> Job:
        """As the blog agent does."""
        said = "BlogOrchestratorAgent is deprecated: use Agent(conductor, 'blog')"
        warnings.warn(said, DeprecationWarning, stacklevel=2)
        return await super().execute(input, models=models, **options)

"""Agents as objects: start a run and get a handle to watch, cancel and read it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from engine.operations.conductor import Conductor, RunHandle
from engine.records import RunQuery


class Agent:
    """A pattern as an agent: accepts an input and returns a run's handle immediately.

    Args:
        conductor: runs the pattern.
        name: the pattern's name. Raises `UnknownPattern`.
    """

    def __init__(self, conductor: Conductor, name: str) -> None:
        pattern = conductor.catalog.pattern(name)
        self.conductor, self.name, self.description = conductor, pattern.name, pattern.summary

    async def execute(
        self, input: Mapping[str, Any], *, models: Mapping[str, str] | None = None, **options: Any
    ) -> RunHandle:
        """Start a run. It is journaled when this returns, and continues in the background.

        Args:
            input: values for the pattern's parameters.
            models: model name per role; the key '' is the default.
            options: fields of `Launch`.

        Raises:
            InvalidInput, JournalError
        """
        return await self.conductor.start(self.name, input, models=models, **options)

    async def jobs(self) -> list[RunHandle]:
        """Return its latest runs, newest first."""
        page = await self.conductor.runs(RunQuery(pattern=self.name))
        return [RunHandle(info.id, self.conductor) for info in page.runs]


class BlogOrchestratorAgent(Agent):
    """Deprecated: use `Agent(conductor, 'blog')`. Warns on use."""

    def __init__(self, conductor: Conductor) -> None:
        super().__init__(conductor, 'blog')

    @override
    async def execute(
        self, input: Mapping[str, Any], *, models: Mapping[str, str] | None = None, **options: Any
    ) -> RunHandle:
        """Run the blog agent. Deprecated, like the class."""
        warning = "BlogOrchestratorAgent is deprecated: use Agent(conductor, 'blog')"
        warnings.warn(warning, DeprecationWarning, stacklevel=2)
        return await super().execute(input, models=models, **options)

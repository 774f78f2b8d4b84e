"""The tools that agents can use: described, and tried in a scratch folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import EngineError, LocalConductor
from engine.agents import ToolPlayground, ToolTrial
from engine.errors import ToolError
from engine.models import SCRIPTED
from engine.operations import NO_DATA
from engine.runtime import ACTOR
from engine.tools import Tool

PERSON = 'account '
"""Before the name of an account, or alone where there are none: whose scratch folder it is."""


class UnknownTool(EngineError):
    """There is no tool with that name."""

    def __init__(self, name: str, available: Sequence[str]) -> None:
        self.name, self.available = name, tuple(available)
        super().__init__(f'there is no tool {name!r}; available: {", ".join(self.available)}')


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInfo:
    """A tool as callers see it."""

    name: str
    description: str
    category: str
    side_effects: bool
    approval: bool
    """Whether a call needs the approval of a person."""
    arguments: Mapping[str, Any]
    """The JSON Schema of its arguments."""
    missing: str = ''
    """Why it cannot be used here, or ''."""


class Tools:
    """The tools of a conductor, and a scratch folder for each person who tries them."""

    def __init__(self, conductor: LocalConductor) -> None:
        self._conductor = conductor
        self._playgrounds: dict[str, ToolPlayground] = {}

    async def list(self) -> list[ToolInfo]:
        """Return all tools that are known, by name."""
        tools = self._conductor.catalog.tools
        return [_describe(tools[name]) for name in sorted(tools)]

    async def get(self, name: str) -> ToolInfo:
        """Describe a tool; MCP servers are asked for it if need be. Raises `UnknownTool`."""
        return _describe(await self._find(name))

    async def call(self, name: str, arguments: Mapping[str, Any] = NO_DATA, model: str = '') -> ToolTrial:
        """Call a tool as an agent would, in the caller's scratch folder; its error is the result.

        Unless a model is named, the simulated one answers the tool's own questions. Raises `UnknownTool`.
        """
        tool = await self._find(name)
        answering = model or SCRIPTED if 'model' in tool.needs else ''
        try:
            playground = self.playground(f'{PERSON}{ACTOR.get()}')
            return await playground.call(tool.name, arguments, model=answering)
        except ToolError as error:
            return ToolTrial(text=str(error), ok=False, seconds=0.0)

    def playground(self, person: str) -> ToolPlayground:
        """Return a person's scratch folder, which is kept until `close`."""
        return self._playgrounds.setdefault(person, ToolPlayground(self._conductor.services))

    async def close(self) -> None:
        """Remove all scratch folders."""
        await asyncio.gather(*(playground.reset() for playground in self._playgrounds.values()))

    async def _find(self, name: str) -> Tool:
        catalog = self._conductor.catalog
        tool = catalog.tools.get(name) or (await catalog.mcp.find([name])).get(name)
        if tool is None:
            raise UnknownTool(name, sorted(catalog.tools))
        return tool


def _describe(tool: Tool) -> ToolInfo:
    return ToolInfo(
        name=tool.name,
        description=tool.description,
        category=tool.category,
        side_effects=tool.side_effects,
        approval=tool.approval,
        arguments=tool.spec.schema,
        missing=tool.missing(),
    )

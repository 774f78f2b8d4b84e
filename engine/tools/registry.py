"""ToolRegistry: the available tools by category, and their descriptions for agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Self

from engine.errors import EngineError
from engine.tools.protocol import Tool
from engine.workspace.sandbox.sandbox import Sandbox


class ToolRegistry(Mapping[str, Tool]):
    """Tools by name.

    Args:
        tools: the tools, in the order in which each category lists them to agents.
        off: unavailable tools, with the reasons.
    """

    def __init__(self, tools: Iterable[Tool] = (), off: Mapping[str, str] | None = None) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.off = dict(off or {})

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises `EngineError` if its name is taken."""
        if self._tools.setdefault(tool.name, tool) is not tool:
            raise EngineError(f'there is already a tool {tool.name!r}')

    def only(self, names: Iterable[str] | None = None, *, category: str = '') -> ToolRegistry:
        """Return the tools with these names, in this order, or those in one category."""
        chosen = self if names is None else [name for name in names if name in self]
        tools = (self[name] for name in chosen)
        selected = [tool for tool in tools if not category or tool.category == category]
        return ToolRegistry(
            selected, {tool.name: self.off[tool.name] for tool in selected if tool.name in self.off}
        )

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, in the order of the tools."""
        return tuple(dict.fromkeys(tool.category for tool in self.values()))

    async def available(self, sandbox: Sandbox | None, *, model: bool = True) -> Self:
        """Return the tools that can be used here; the others are in `off`.

        Args:
            sandbox: runs commands, if available.
            model: whether tools may ask a model.
        """
        off = {
            tool.name: why
            for tool in self.values()
            if (why := await missing_requirement(tool, sandbox, model))
        }
        return type(self)((tool for tool in self.values() if tool.name not in off), off)

    def without(self, off: Mapping[str, str]) -> ToolRegistry:
        """Return a registry without these tools, which are unavailable for the given reasons."""
        return ToolRegistry((tool for tool in self.values() if tool.name not in off), {**self.off, **off})

    def warnings(self, available: Iterable[str] = ()) -> list[str]:
        """Return warnings about tools that read an artifact that no tool produces.

        Args:
            available: artifacts that exist from the start.
        """
        produced = {name for tool in self.values() for name in tool.produces} | set(available)
        return [
            f'{tool.name} reads {name!r}, which no tool produces'
            for tool in self.values()
            for name in tool.consumes
            if name not in produced
        ]

    def section(self) -> str:
        """Format the tools as a prompt section in Markdown: a heading per category, an item per tool."""
        order = {category: number for number, category in enumerate(self.categories)}
        tools = sorted(self.values(), key=lambda tool: order[tool.category])
        parts = []
        for category, group in groupby(tools, key=lambda tool: tool.category):
            entries = '\n'.join(_entry(tool) for tool in group)
            parts.append(f'### {category.capitalize()}\n\n{entries}')
        return '\n\n'.join(parts) or 'There are no tools.'


async def missing_requirement(tool: Tool, sandbox: Sandbox | None, model: bool = True) -> str:
    """Return why a tool cannot be used here; '' if it can."""
    if 'sandbox' in tool.needs:
        problem = 'commands cannot be run here' if sandbox is None else await sandbox.problem()
        if problem and not (sandbox and sandbox.unsafe):
            return problem
    if 'model' in tool.needs and not model:
        return 'there is no model to ask'
    return tool.missing()


def _entry(tool: Tool) -> str:
    summary = ' '.join(tool.description.partition('\n\n')[0].split())
    marks = 'required' if tool.required else 'optional'
    flow = [
        f'{word} {", ".join(names)}'
        for word, names in (('reads', tool.consumes), ('produces', tool.produces))
        if names
    ]
    notes = [tool.hint, f'It {" and ".join(flow)}.' if flow else '']
    return f'- **{tool.name}** ({marks}): {" ".join(filter(None, [summary, *notes]))}'

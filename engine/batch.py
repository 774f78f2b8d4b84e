"""One batch of tool calls: side by side, but what changes something one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import groupby

from engine.dynamic.artifacts import Given
from engine.errors import ToolError
from engine.message import ToolCall, ToolResult
from engine.plain import said
from engine.tool import Tool, ToolContext


async def run_calls(
    tools: Mapping[str, Tool], calls: Sequence[ToolCall], contexts: Sequence[ToolContext]
) -> list[ToolResult]:
    """Run the calls of one reply.

    Calls without side effects that stand next to each other run side by side. What has side effects waits
    for those before it: a test asked for after an edit sees the edit.

    Args:
        tools: by name.
        calls: in the order in which they were asked for.
        contexts: what each call gets beside its arguments.

    Returns:
        The results, in the same order. Whatever goes wrong is told to the model, which can act on it.
    """

    def changes(pair: tuple[ToolCall, ToolContext]) -> bool:
        return pair[0].name in tools and tools[pair[0].name].side_effects

    results: list[ToolResult] = []
    for in_turn, group in groupby(zip(calls, contexts, strict=True), key=changes):
        if in_turn:
            for call, context in group:
                result, made = await use(tools, call, context)
                results.append(result)
                context.shelf.take(call.name, made)
        else:
            side_by_side = list(group)
            ended = await asyncio.gather(*(use(tools, call, context) for call, context in side_by_side))
            for (call, context), (result, made) in zip(side_by_side, ended, strict=True):
                results.append(result)
                context.shelf.take(call.name, made)  # In the order of the calls, whichever ended first.
    return results


async def use(tools: Mapping[str, Tool], call: ToolCall, context: ToolContext) -> tuple[ToolResult, Given]:
    """Run one call; gives what the model is told, and the artifacts. Whatever goes wrong is a result too."""
    found = tools.get(call.name)
    try:
        if found is None and call.name in (off := getattr(tools, 'off', {})):
            raise ToolError(f'{call.name} cannot be used here: {off[call.name]}')
        if found is None:
            raise ToolError(f'there is no tool {call.name!r}; there are: {", ".join(tools) or "none"}')
        made = await found.give(call.arguments, context)
        return ToolResult(id=call.id, name=call.name, text=made.text, ok=made.ok), made
    except ToolError as error:
        problem = said(error)
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, GeneratorExit) or (task is not None and task.cancelling()):
            raise
        problem = f'{call.name} broke down: {said(error)}'
    return ToolResult(id=call.id, name=call.name, text=problem, ok=False), Given(text=problem)

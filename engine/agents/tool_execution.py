"""Tool execution: runs a batch of tool calls concurrently, but those with side effects one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from engine.errors import ToolError
from engine.models.protocol import UNNAMED
from engine.records.jsonable import describe_error
from engine.records.message import ToolCall, ToolResult
from engine.records.question import Question
from engine.tools.artifacts import ToolOutput
from engine.tools.protocol import AnswerNeeded, Tool, ToolContext


async def execute_tool_calls(
    tools: Mapping[str, Tool], calls: Sequence[ToolCall], contexts: Sequence[ToolContext]
) -> list[ToolResult]:
    """Run the calls of one reply.

    Adjacent calls without side effects run concurrently. Calls with side effects wait for those before
    them: a test run requested after an edit sees the edit.

    Args:
        tools: by name.
        calls: in the order in which they were made.
        contexts: the context passed to each call with its arguments.

    Returns:
        The results, in the same order. Errors are results too, for the model to act on.

    Raises:
        AnswerNeeded: a call needs a person's answer first; `results` has the calls that have ended. Later
            calls have not started.
    """

    def changes(pair: tuple[ToolCall, ToolContext]) -> bool:
        return pair[0].name in tools and tools[pair[0].name].side_effects

    async def run_call(call: ToolCall, context: ToolContext) -> tuple[ToolResult, ToolOutput] | Question:
        try:
            return await execute_tool_call(tools, call, context)
        except AnswerNeeded as needed:
            return needed.question

    results: list[ToolResult] = []
    for in_turn, group in groupby(zip(calls, contexts, strict=True), key=changes):
        pairs = list(group)
        for together in [[pair] for pair in pairs] if in_turn else [pairs]:
            open_questions = []
            outcomes = await asyncio.gather(*(run_call(call, context) for call, context in together))
            for (call, context), outcome in zip(together, outcomes, strict=True):
                if isinstance(outcome, Question):
                    open_questions.append(outcome)
                    continue
                results.append(outcome[0])
                _store_output(call, outcome[1], context)  # In the order of the calls, not of completion.
            if open_questions:  # The others ask again when their calls are repeated.
                raise AnswerNeeded(open_questions[0], results)
    return results


def _store_output(call: ToolCall, output: ToolOutput, context: ToolContext) -> None:
    """Store the artifacts and images of a call."""
    context.artifact_store.apply(call.name, output)
    context.images += [replace(image, call=call.id) for image in output.images]


async def execute_tool_call(
    tools: Mapping[str, Tool], call: ToolCall, context: ToolContext
) -> tuple[ToolResult, ToolOutput]:
    """Run one call; return the result for the model and the artifacts. Errors are results too.

    Raises:
        AnswerNeeded: it cannot continue until a person has answered.
    """
    tool = tools.get(call.name)
    try:
        if tool is None and call.name in (off := getattr(tools, 'off', {})):
            raise ToolError(f'{call.name} cannot be used here: {off[call.name]}')
        if tool is None and call.name == UNNAMED:
            raise ToolError(f'the call names no tool; available: {", ".join(tools) or "none"}')
        if tool is None:
            raise ToolError(f'there is no tool {call.name!r}; available: {", ".join(tools) or "none"}')
        output = await tool.invoke(call.arguments, context)
        return ToolResult(id=call.id, name=call.name, text=output.text, ok=output.ok), output
    except AnswerNeeded:
        raise
    except ToolError as error:
        problem = describe_error(error)
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, GeneratorExit) or (task is not None and task.cancelling()):
            raise
        problem = f'{call.name} failed unexpectedly: {describe_error(error)}'
    return ToolResult(id=call.id, name=call.name, text=problem, ok=False), ToolOutput(text=problem)

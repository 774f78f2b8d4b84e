"""Tools: a typed async function each, with a schema made from its signature and docstring."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from engine.errors import ToolError
from engine.model import ToolSpec
from engine.workspace import Workspace

MOST_TEXT = 20_000
"""Characters of a result that go back to the model; the rest is cut with a note."""


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """What a tool gets beside its arguments."""

    key: str
    """The same for every repetition of this call after a crash: lets an outside system do it once."""
    store: dict[str, str] = field(default_factory=dict)
    """Small texts kept for the agent between calls; what a tool writes is journaled with its result."""
    workspace: Workspace | None = None
    """The agent's own folder in this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call."""

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[..., Awaitable[str]]
    approval: bool = False
    """Whether a person must allow each call."""

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        return ToolSpec(
            name=self.name, description=self.description, schema=self.arguments.model_json_schema()
        )

    async def run(self, arguments: str, context: ToolContext) -> str:
        """Validate the arguments and run.

        Raises:
            ToolError: bad arguments, or the tool said no; its sentence is meant for the model.
        """
        try:
            values = self.arguments.model_validate(_parsed(arguments))
        except ValidationError as error:
            listed = '; '.join(f'{".".join(map(str, item["loc"]))}: {item["msg"]}' for item in error.errors())
            raise ToolError(f'the arguments of {self.name} do not fit: {listed}') from None
        given = {name: getattr(values, name) for name in type(values).model_fields}
        text = await self.call(context, **given)
        if not isinstance(text, str):
            raise TypeError(f'a tool returns a text, not {type(text).__name__}')
        if len(text) > MOST_TEXT:
            return f'{text[:MOST_TEXT]}\n[cut: {len(text) - MOST_TEXT} more characters]'
        return text


def tool(*, approval: bool = False) -> Callable[[Callable[..., Awaitable[str]]], Tool]:
    """Make a tool of `async def name(context: ToolContext, ...) -> str`; a model reads its docstring."""

    def make(call: Callable[..., Awaitable[str]]) -> Tool:
        hints = get_type_hints(call, include_extras=True)
        fields: dict[str, Any] = {}
        for parameter in list(inspect.signature(call).parameters.values())[1:]:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            if parameter.name not in hints:
                raise TypeError(f'tool {call.__name__}: its parameter {parameter.name!r} needs a type')
            fields[parameter.name] = (hints[parameter.name], default)
        arguments = create_model(call.__name__, __config__=ConfigDict(extra='forbid'), **fields)
        return Tool(
            name=call.__name__,
            description=inspect.getdoc(call) or '',
            arguments=arguments,
            call=call,
            approval=approval,
        )

    return make


def _parsed(arguments: str) -> Mapping[str, Any]:
    # Providers send '' for a call without arguments.
    try:
        values = json.loads(arguments or '{}')
    except (ValueError, RecursionError) as error:
        raise ToolError(f'the arguments are not valid JSON: {error}') from None
    if not isinstance(values, dict):
        raise ToolError('the arguments must be a JSON object')
    return values

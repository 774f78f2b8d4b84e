"""Tools: a typed async function each, with a schema made from its signature and docstring."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from engine.commands.sandbox import Sandbox
from engine.dynamic.artifacts import Given, Shelf
from engine.errors import ToolError
from engine.files.workspace import Workspace
from engine.model import ToolSpec, schema_of

MOST_TEXT = 20_000
"""Characters of a result that go back to the model; what is in the middle is cut out, with a note."""
SECONDS = 60.0
GRACE = 5.0
"""Seconds that a tool has to clean up once its time is over; then the agent goes on without it."""


Need = Literal['sandbox', 'model']
"""What a tool cannot do without, of what not every place has."""


class Ask(Protocol):
    """Asks the model of the agent that called a tool."""

    async def __call__(self, prompt: str, *, output: type[BaseModel] | None = None) -> Any:
        """Its answer: a text, or the record that was asked for. Raises `ToolError`."""


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """What a tool gets beside its arguments."""

    key: str
    """The same for every repetition of this call after a crash: lets an outside system do it once."""
    store: dict[str, str] = field(default_factory=dict)
    """Small texts kept for the agent between calls; what a tool writes is journaled with its result."""
    workspace: Workspace | None = None
    """The agent's own folder in this run."""
    sandbox: Sandbox | None = None
    """What runs commands in that folder."""
    private_addresses: bool = False
    """Whether pages may be fetched from this machine and its own network."""
    now: float = 0.0
    """When the batch began: seconds since the epoch."""
    shelf: Shelf = field(default_factory=Shelf)
    """The agent's artifacts; what a tool makes gets there by what it returns."""
    model: Ask | None = None
    """Asks the agent's own model; what it uses is counted with the batch."""

    @property
    def artifacts(self) -> Mapping[str, Any]:
        """What the agent has made so far, of what this tool consumes: texts and JSON values, by name."""
        return self.shelf.values

    @property
    def ask(self) -> Ask:
        """Asks the agent's model. Raises `ToolError` where there is none."""
        if self.model is None:
            raise ToolError('there is no model to ask here')
        return self.model

    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the run's pattern lets tools know of its memory (`Pattern.facts`), as JSON values: a copy."""

    @property
    def files(self) -> Workspace:
        """The agent's own folder. Raises `ToolError` where it has none."""
        if self.workspace is None:
            raise ToolError('there is no folder for files here')
        return self.workspace

    @property
    def commands(self) -> Sandbox:
        """What runs commands. Raises `ToolError` where nothing does."""
        if self.sandbox is None:
            raise ToolError('no commands can be run here')
        return self.sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call."""

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[..., Awaitable[str | Given]]
    category: str = 'general'
    """What it is about: `files`, `commands`, `web` ..."""
    side_effects: bool = False
    """Whether it changes something. Such calls of one reply run one after another, in their order."""
    approval: bool = False
    """Whether a person must allow each call."""
    seconds: float = SECONDS
    """How long a call may take; then it is ended, and what it has started too."""
    most_text: int = MOST_TEXT
    """Characters of a result that go back to the model."""
    required: bool = False
    """Whether an agent that has it should use it for every task, and not only where it helps."""
    hint: str = ''
    """When to use it, in a sentence for the model."""
    consumes: tuple[str, ...] = ()
    """Artifacts that it reads where they are there."""
    produces: tuple[str, ...] = ()
    """Artifacts that it makes."""
    needs: tuple[Need, ...] = ()
    missing: Callable[[], str] = lambda: ''
    """Says what would have to be configured first; '' where it can be used."""

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            schema=schema_of(self.arguments),
            nullable=True,
        )

    async def run(self, arguments: str, context: ToolContext) -> str:
        """What `give` gives, but its text alone."""
        return (await self.give(arguments, context)).text

    async def give(self, arguments: str, context: ToolContext) -> Given:
        """Validate the arguments and run.

        Returns:
            The text for the model, not too long, and the artifacts.

        Raises:
            ToolError: bad arguments, or the tool said no; its sentence is meant for the model.
        """
        try:
            values = self.arguments.model_validate(self._given(parsed(arguments)))
        except ValidationError as error:
            listed = '; '.join(f'{".".join(map(str, item["loc"]))}: {item["msg"]}' for item in error.errors())
            raise ToolError(f'the arguments of {self.name} do not fit: {listed}') from None
        given = {name: getattr(values, name) for name in type(values).model_fields}
        return await self.limited(self.call(context, **given), context)

    def _given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Without nulls for what may be left out: a strict provider has no other way to leave it out."""
        fields = self.arguments.model_fields
        return {
            name: value
            for name, value in values.items()
            if value is not None or name not in fields or fields[name].is_required()
        }

    async def limited(self, call: Awaitable[str | Given], context: ToolContext) -> Given:
        """What a call gives, within the limits of time and length. Raises `ToolError`."""
        result = await self._in_time(call)
        made = Given(text=result) if isinstance(result, str) else result
        if not isinstance(made, Given):
            raise TypeError(f'a tool returns a text, not {type(result).__name__}')
        undeclared = {*made.artifacts, *made.adds} - set(self.produces)
        if undeclared:
            raise TypeError(f'it does not say that it produces {min(undeclared)!r}')
        if len(made.text) > self.most_text:
            made = replace(made, text=await self._cut(made.text, context))
        return made

    async def _in_time(self, call: Awaitable[Any]) -> Any:
        async def caught() -> Any:
            try:
                return await call
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # A `SystemExit` that leaves a task ends the process.
                return error

        task = asyncio.ensure_future(caught())
        try:
            await asyncio.wait({task}, timeout=self.seconds)
        finally:
            in_time = task.done()
            if not in_time:
                task.cancel()
                await asyncio.wait({task}, timeout=GRACE)
        if not in_time:
            raise ToolError(f'{self.name} was ended: it took longer than {self.seconds:g} seconds')
        result = task.result()
        if isinstance(result, BaseException):
            raise result
        return result

    async def _cut(self, text: str, context: ToolContext) -> str:
        kept = ''
        if context.workspace is not None:
            digest = await context.workspace.keep(text.encode(errors='replace'))
            kept = f'; the whole is kept as artifact {digest}'
        head = self.most_text * 2 // 3
        tail = self.most_text - head
        note = f'[cut: {len(text) - self.most_text} more characters{kept}]'
        return f'{text[:head]}\n{note}\n{text[-tail:]}'


def tool(  # noqa: PLR0913  (all have defaults)
    *,
    category: str = 'general',
    side_effects: bool = False,
    approval: bool = False,
    seconds: float = SECONDS,
    most_text: int = MOST_TEXT,
    required: bool = False,
    hint: str = '',
    consumes: Sequence[str] = (),
    produces: Sequence[str] = (),
    needs: Sequence[Need] = (),
    missing: Callable[[], str] = lambda: '',
) -> Callable[[Callable[..., Awaitable[str | Given]]], Tool]:
    """Make a tool of `async def name(context: ToolContext, ...) -> str`; a model reads its docstring.

    It may return a `Given` instead: a text with artifacts beside it.

    Args:
        category: what it is about; tools are listed by it.
        side_effects: whether it changes something; such calls run one after another.
        approval: whether a person must allow each call.
        seconds: how long a call may take.
        most_text: characters of a result that go back to the model; the whole is kept where there is more.
        required: whether it is to be used for every task.
        hint: when to use it.
        consumes: artifacts that it reads, where they are there.
        produces: artifacts that it makes; it can make no others.
        needs: what it cannot do without: `sandbox`, `model`.
        missing: says what would have to be configured first, or ''.
    """

    def make(call: Callable[..., Awaitable[str | Given]]) -> Tool:
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
            category=category,
            side_effects=side_effects,
            approval=approval,
            seconds=seconds,
            most_text=most_text,
            required=required,
            hint=hint,
            consumes=tuple(consumes),
            produces=tuple(produces),
            needs=tuple(needs),
            missing=missing,
        )

    return make


def parsed(arguments: str) -> Mapping[str, Any]:
    """The arguments of a call as an object. Raises `ToolError`."""
    # Providers send '' for a call without arguments.
    try:
        values = json.loads(arguments or '{}')
    except (ValueError, RecursionError) as error:
        raise ToolError(f'the arguments are not valid JSON: {error}') from None
    if not isinstance(values, dict):
        raise ToolError('the arguments must be a JSON object')
    return values

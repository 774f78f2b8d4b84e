"""Tools: typed async functions, each with a schema derived from its signature and docstring."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, Protocol, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from engine.errors import ToolError
from engine.models.protocol import ToolSpec, schema_of
from engine.records.jsonable import cut_place
from engine.records.message import Image, ToolResult
from engine.records.question import Question
from engine.tools.artifacts import ArtifactStore, ToolOutput
from engine.workspace.sandbox.sandbox import Sandbox
from engine.workspace.workspace import Workspace

MAX_RESULT_TEXT = 20_000
"""Maximum characters of a result returned to the model; the middle is cut, with a note."""
DEFAULT_SECONDS = 60.0
GRACE_SECONDS = 5.0
"""Seconds a tool has to clean up after a timeout before the agent continues without it."""


Need = Literal['sandbox', 'model']
"""Requirements of a tool that not every environment meets."""


class AnswerNeeded(Exception):
    """A call cannot continue until a person has answered.

    Attributes:
        question: the open question.
        results: the results of the batch's calls that have ended.
    """

    def __init__(self, question: Question, results: Sequence[ToolResult] = ()) -> None:
        self.question, self.results = question, results
        super().__init__(question.message)


class Ask(Protocol):
    """Asks the model of the agent that called a tool."""

    async def __call__(self, prompt: str, *, output: type[BaseModel] | None = None) -> Any:
        """Return its answer: text, or the requested record. Raises `ToolError`."""


@dataclass(slots=True, kw_only=True)
class ToolContext:
    """The context passed to a tool in addition to its arguments."""

    key: str
    """Idempotency key: the same when this call is repeated after a crash."""
    store: dict[str, str] = field(default_factory=dict)
    """Short strings that the agent stores between calls; a tool's changes are journaled with its result."""
    workspace: Workspace | None = None
    """The agent's own folder in this run."""
    sandbox: Sandbox | None = None
    """Runs commands in that folder."""
    private_addresses: bool = False
    """Whether pages on this machine and in private networks may be fetched."""
    now: float = 0.0
    """Start of the batch, in seconds since the epoch."""
    artifact_store: ArtifactStore = field(default_factory=ArtifactStore)
    """The agent's artifacts; a tool adds some by returning them."""
    images: list[Image] = field(default_factory=list)
    """The images returned by the batch's tools, in call order."""
    questions: Sequence[Question] | None = None
    """Questions that this call has asked a person so far, with the answers; None if nobody can be asked."""
    model: Ask | None = None
    """Asks the agent's model; usage counts towards the batch."""

    @property
    def artifacts(self) -> Mapping[str, Any]:
        """The agent's artifacts that this tool consumes: strings and other JSON values, by name."""
        return self.artifact_store.values

    @property
    def ask(self) -> Ask:
        """Asks the agent's model. Raises `ToolError` if there is none."""
        if self.model is None:
            raise ToolError('there is no model to ask here')
        return self.model

    facts: Mapping[str, Any] = field(default_factory=dict)
    """A copy of the memory that the run's pattern exposes to tools (`Pattern.facts`), as JSON values."""

    @property
    def files(self) -> Workspace:
        """The agent's own folder. Raises `ToolError` if it has none."""
        if self.workspace is None:
            raise ToolError('there is no folder for files here')
        return self.workspace

    @property
    def commands(self) -> Sandbox:
        """The sandbox that runs commands. Raises `ToolError` if there is none."""
        if self.sandbox is None:
            raise ToolError('commands cannot be run here')
        return self.sandbox


@lru_cache(maxsize=1_000)
def _spec(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    """Return a tool's description, cached because every agent turn sends those of its tools."""
    return ToolSpec(name=name, description=description, schema=schema_of(arguments), nullable=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a model may call."""

    name: str
    description: str
    arguments: type[BaseModel]
    call: Callable[..., Awaitable[str | ToolOutput]]
    category: str = 'general'
    """Its category: `files`, `commands`, `web` ..."""
    side_effects: bool = False
    """Whether it has side effects. Such calls in the same reply run one after another, in order."""
    approval: bool = False
    """Whether each call needs approval."""
    seconds: float = DEFAULT_SECONDS
    """Time limit of a call; when it expires, the call and everything it has started are stopped."""
    most_text: int = MAX_RESULT_TEXT
    """Maximum characters of a result returned to the model."""
    required: bool = False
    """Whether an agent should use it for every task, not only where it helps."""
    hint: str = ''
    """When to use it, as a sentence for the model."""
    consumes: tuple[str, ...] = ()
    """Artifacts it reads, if they exist."""
    produces: tuple[str, ...] = ()
    """Artifacts it produces."""
    needs: tuple[Need, ...] = ()
    missing: Callable[[], str] = lambda: ''
    """Returns the missing configuration; '' if the tool can be used."""

    @property
    def spec(self) -> ToolSpec:
        """The description given to a model."""
        return _spec(self.name, self.description, self.arguments)

    async def run(self, arguments: str, context: ToolContext) -> str:
        """Run the tool; return only the text."""
        return (await self.invoke(arguments, context)).text

    async def invoke(self, arguments: str, context: ToolContext) -> ToolOutput:
        """Validate the arguments and run.

        Returns:
            The text for the model, within the limit, and the artifacts.

        Raises:
            ToolError: bad arguments, or the tool failed; the message is meant for the model.
        """
        try:
            values = self.arguments.model_validate(self._drop_nulls(parse_arguments(arguments)))
        except ValidationError as error:
            listed = '; '.join(f'{".".join(map(str, item["loc"]))}: {item["msg"]}' for item in error.errors())
            raise ToolError(f'the arguments of {self.name} are invalid: {listed}') from None
        by_name = {name: getattr(values, name) for name in type(values).model_fields}
        return await self.run_limited(self.call(context, **by_name), context)

    def _drop_nulls(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Drop nulls for optional arguments: with strict schemas, models cannot omit them otherwise."""
        fields = self.arguments.model_fields
        return {
            name: value
            for name, value in values.items()
            if value is not None or name not in fields or fields[name].is_required()
        }

    async def run_limited(self, call: Awaitable[str | ToolOutput], context: ToolContext) -> ToolOutput:
        """Await a call within its time limit, and limit its result's length. Raises `ToolError`."""
        result = await self._in_time(call)
        output = ToolOutput(text=result) if isinstance(result, str) else result
        if not isinstance(output, ToolOutput):
            raise TypeError(f'a tool must return text, not {type(result).__name__}')
        undeclared = {*output.artifacts, *output.adds} - set(self.produces)
        if undeclared:
            raise TypeError(f'it does not declare that it produces {min(undeclared)!r}')
        return replace(output, text=await truncate(output.text, self.most_text, context.workspace))

    async def _in_time(self, call: Awaitable[Any]) -> Any:
        async def catch() -> Any:
            try:
                return await call
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # A `SystemExit` that escapes from a task ends the process.
                return error

        task = asyncio.ensure_future(catch())
        try:
            await asyncio.wait({task}, timeout=self.seconds)
        finally:
            in_time = task.done()
            if not in_time:
                task.cancel()
                await asyncio.wait({task}, timeout=GRACE_SECONDS)
        if not in_time:
            raise ToolError(f'{self.name} was stopped: it took longer than {self.seconds:g} seconds')
        result = task.result()
        if isinstance(result, BaseException):
            raise result
        return result


async def truncate(text: str, most: int, workspace: Workspace | None) -> str:
    """Cut the middle of text that is too long; if there is a workspace, it stores the whole."""
    if len(text) <= most:
        return text
    location = ''
    if workspace is not None:
        location = f'; the whole is kept as artifact {await workspace.store(text.encode(errors="replace"))}'
    head, tail = cut_place(text, most * 2 // 3), cut_place(text, len(text) - most + most * 2 // 3)
    return f'{text[:head]}\n[cut: {tail - head} more characters{location}]\n{text[tail:]}'


def tool(  # noqa: PLR0913  (all have defaults)
    *,
    category: str = 'general',
    side_effects: bool = False,
    approval: bool = False,
    seconds: float = DEFAULT_SECONDS,
    most_text: int = MAX_RESULT_TEXT,
    required: bool = False,
    hint: str = '',
    consumes: Sequence[str] = (),
    produces: Sequence[str] = (),
    needs: Sequence[Need] = (),
    missing: Callable[[], str] = lambda: '',
) -> Callable[[Callable[..., Awaitable[str | ToolOutput]]], Tool]:
    """Make a tool from `async def name(context: ToolContext, ...) -> str`; models see its docstring.

    The function may also return a `ToolOutput`: text with artifacts.

    Args:
        category: the category under which it is listed.
        side_effects: whether it has side effects; such calls run one after another.
        approval: whether each call needs approval.
        seconds: the time limit of a call.
        most_text: maximum characters of a result returned to the model; longer results are stored in full.
        required: whether it should be used for every task.
        hint: when to use it.
        consumes: artifacts it reads, if they exist.
        produces: artifacts it produces; all others are rejected.
        needs: its requirements: `sandbox`, `model`.
        missing: returns the missing configuration, or ''.
    """

    def make(call: Callable[..., Awaitable[str | ToolOutput]]) -> Tool:
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


def parse_arguments(arguments: str) -> Mapping[str, Any]:
    """Parse a call's arguments as an object. Raises `ToolError`."""
    # Providers send '' for a call without arguments.
    try:
        values = json.loads(arguments or '{}')
    except (ValueError, RecursionError) as error:
        raise ToolError(f'the arguments are not valid JSON: {error}') from None
    if not isinstance(values, dict):
        raise ToolError('the arguments must be a JSON object')
    return values

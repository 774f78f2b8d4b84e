"""Launch: what a run is started with. The form, commands, the API and schedules derive from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Final, TypedDict

from pydantic import ConfigDict, Field, StrictBool, TypeAdapter, ValidationError, with_config

from engine.errors import InvalidInput
from engine.records.breakpoint import MAX_BREAKPOINTS, Breakpoint, load_breakpoints
from engine.records.effort import Effort
from engine.records.frozen import Label
from engine.records.run_info import MAX_TAG, MAX_TAGS, MAX_TITLE, MAX_VERSION, Approvals, RunInfo
from engine.records.usage import Budget

MAX_STUBS = 1_000
"""Maximum number of agents with stubs."""
Tag = Annotated[str, Field(max_length=MAX_TAG)]
APPROVALS: Final = Label(
    'Tool approval',
    {'marked': 'When the tool requires it', 'all': 'For every tool call', 'none': 'Never'},
)


class VariantOptions(TypedDict, total=False):
    """How each of several new runs starts."""

    paused: Annotated[bool, Field(default=False, description='Whether it starts paused.')]
    budget: Annotated[Budget | None, Field(default=None, description='Limits on what it may use.')]
    """By default, its parent's: what the parent has used does not count."""


class StartOptions(VariantOptions, total=False):
    """How a new run starts."""

    title: Annotated[
        str,
        Field(
            default='',
            max_length=MAX_TITLE,
            description="The new run's title; by default what changes, or else the parent's title.",
        ),
    ]


@with_config(ConfigDict(extra='forbid'))
@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A run to launch, with its options; what is given by role is for all other roles at `""`."""

    pattern: Annotated[str, Field(max_length=200)]
    """The name of a pattern."""
    version: Annotated[str, Field(max_length=MAX_VERSION)] = ''
    """The version of the pattern; by default the current one."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values for the parameters of the pattern."""
    title: Annotated[str, Field(max_length=MAX_TITLE), Label('Title')] = ''
    """Name shown in lists; derived from the input if empty."""
    tags: Annotated[tuple[Tag, ...], Field(max_length=MAX_TAGS), Label('Tags')] = ()
    """Labels to find the run by."""
    private: Annotated[StrictBool, Label('Private')] = False
    """Only its author and administrators can see it."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Models by role: `openai/gpt-5`, or several separated by commas, the first choice first."""
    effort: Mapping[str, Effort] = field(default_factory=dict)
    """Reasoning effort by role: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or a number of
    tokens."""
    instructions: Mapping[str, str] = field(default_factory=dict)
    """Standing instructions by role, instead of the pattern's."""
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tools by role, instead of the pattern's."""
    budget: Budget | None = None
    """Limits on what it may use."""
    approvals: Annotated[Approvals, APPROVALS] = 'marked'
    """Which tool calls wait for a person's approval."""
    record: Annotated[StrictBool, Label('Record model replies')] = False
    """Lets the run be replayed later, offline and for free. Keys are not recorded."""
    replay: Annotated[str, Field(max_length=100)] = ''
    """The run whose recording answers instead of the models."""
    stubs: Annotated[Mapping[str, tuple[Any, ...]], Field(max_length=MAX_STUBS)] = field(default_factory=dict)
    """Answers given to agents instead of asking a model: by agent or role, one for each visit."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1), Label('Seed')] = 0
    """A simulated run repeats exactly with the same seed and input."""
    paused: StrictBool = False
    """Enter the first state without starting any work."""
    breakpoints: Annotated[tuple[Breakpoint, ...], Field(max_length=MAX_BREAKPOINTS)] = ()
    """Where to stop."""

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Launch:
        """Read a launch from its fields by name. Raises `InvalidInput`, naming the field."""
        values = {**values, 'breakpoints': load_breakpoints(values.get('breakpoints') or ())}
        try:
            launch = LAUNCH.validate_python(values)
        except ValidationError as error:
            raise InvalidInput(
                {'.'.join(filter(None, map(str, item['loc']))): item['msg'] for item in error.errors()}
            ) from None
        if launch.budget:
            launch.budget.check()
        if launch.record and launch.replay:
            raise InvalidInput(
                {'record': 'a replay cannot be recorded: it would be the same recording again'}
            )
        if launch.stubs and launch.replay:
            raise InvalidInput({'stubs': 'a replay answers from its recording'})
        return launch

    @classmethod
    def build(
        cls, launch: Launch | str, parameters: Mapping[str, Any] | None, values: Mapping[str, Any]
    ) -> Launch:
        """Return the launch that the arguments of `Conductor.start` describe. Raises `InvalidInput`."""
        if isinstance(launch, Launch):
            return launch.change({})
        fields = {name: value for name, value in values.items() if name in FIELDS and value is not None}
        more = {name: value for name, value in values.items() if name not in FIELDS}
        return cls.parse({**fields, 'pattern': launch, 'parameters': {**(parameters or {}), **more}})

    def change(self, values: Mapping[str, Any]) -> Launch:
        """Return it with other values of some fields. Raises `InvalidInput`."""
        return Launch.parse({name: getattr(self, name) for name in FIELDS} | dict(values))

    @classmethod
    def of(cls, info: RunInfo) -> Launch:
        """Return the launch that would start a run again, with the pattern as it is today.

        What an imported run has wrong is left out.
        """
        own = {name: getattr(info, name) for name in FIELDS - OPTIONS - {'version'}}
        options = {name: value for name, value in info.options.items() if name in OPTIONS}
        try:
            readable = LAUNCH.validate_python({**options, 'pattern': ''})
        except ValidationError as error:
            wrong = {item['loc'][0] for item in error.errors()}
            return cls.of(replace(info, options={name: options[name] for name in options.keys() - wrong}))
        return replace(readable, **own)

    @property
    def options(self) -> dict[str, Any]:
        """The fields that a run's summary keeps in `options`, as JSON, unless they have their defaults."""
        changed = {name for name in OPTIONS if getattr(self, name) != getattr(DEFAULT, name)}
        return dict(LAUNCH.dump_python(self, mode='json', include=changed))


FIELDS: Final = frozenset(item.name for item in fields(Launch))
OPTIONS: Final = FIELDS - {item.name for item in fields(RunInfo)}
"""The fields for which `RunInfo` has no field of its own."""
DEFAULT: Final = Launch(pattern='')
LAUNCH: Final = TypeAdapter(Launch)

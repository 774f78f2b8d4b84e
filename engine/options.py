"""Options of a run: how it runs, beside what it works on; kept with it, and taken over by a fork."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from engine.errors import InvalidInput
from engine.records import Breakpoint, RunId

Approvals = Literal['marked', 'all', 'none']
"""Which tools wait for a person's word: those that are marked so, every one, or none."""


@with_config(ConfigDict(extra='forbid'))
class Options(TypedDict, total=False):
    """What is not given is as usual."""

    approvals: Approvals
    """`marked` by default."""
    record: bool
    """Whether what its models' endpoints answer is kept, so that another run can replay it."""
    replay: RunId
    """The run whose recording answers in place of all models."""
    paused: bool
    """Whether its first state is entered, and no work starts."""
    breakpoints: Sequence[Breakpoint | Mapping[str, Any]]
    """Where it is to stop."""
    instructions: dict[str, str]
    """By role: its standing instructions, where they are not those of the pattern."""
    tools: dict[str, list[str]]
    """By role: its tools, where they are not those of the pattern."""


OF_ONE = ('kind', 'group', 'play', 'begins', 'paused', 'breakpoints')
"""What stands among the options of one run, and is not taken over by those that are made from it: how it came
about, the tag of the variants beside it, what it plays of its parent, what its first step says, and where it
was to stop."""


OPTIONS = TypeAdapter(Options)


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a new run. Raises `InvalidInput`, which names the option."""
    try:
        made = dict(OPTIONS.validate_python(dict(options), strict=True))
    except ValidationError as error:
        raise InvalidInput(
            {'.'.join(map(str, item['loc'])): item['msg'] for item in error.errors()}
        ) from None
    if made.get('record') and made.get('replay'):
        raise InvalidInput({'record': 'a replay is not recorded: it would be the same recording again'})
    return {name: value for name, value in made.items() if value}

"""Options of a run: how it runs, beside what it works on; kept with it, and taken over by a fork."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from engine.errors import InvalidInput

Approvals = Literal['marked', 'all', 'none']
"""Which tools wait for a person's word: those that are marked so, every one, or none."""


@with_config(ConfigDict(extra='forbid'))
class Options(TypedDict, total=False):
    """What is not given is as usual."""

    approvals: Approvals
    """`marked` by default."""


OPTIONS = TypeAdapter(Options)


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a new run. Raises `InvalidInput`, which names the option."""
    try:
        return dict(OPTIONS.validate_python(dict(options), strict=True))
    except ValidationError as error:
        raise InvalidInput(
            {'.'.join(map(str, item['loc'])): item['msg'] for item in error.errors()}
        ) from None

"""Records of adoption: the variant that is a default, and what making it one would change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import EngineError
from engine.records import Instant, Launch

AdoptionKind = Literal['settings', 'version']
"""How a variant becomes the default: as settings that the launch form starts from, or as a version of the
pattern's chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchDefault:
    """What a pattern's runs start from, since an experiment has found it to be better."""

    id: str
    pattern: str
    launch: Launch
    """What the launch form starts from: the variant's launch, without what each case gives and without stubs;
    only the pattern, if its chart says the rest."""
    experiment: str
    variant: str
    author: str
    created: Instant
    version: str = ''
    """The version of the chart that the variant was made; '' if it is settings of the launch form."""
    before: str = ''
    """The version that was current before."""
    current: bool = True
    """Whether runs start from it now: the chart may have been changed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionPlan:
    """What would change if a variant was made the default as a version of its pattern's chart."""

    pattern: str
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why it cannot: by field of the change, what the chart cannot say; `pattern` for the chart as such."""
    before: str = ''
    """The text of the chart now; '' if there is none."""
    after: str = ''
    """Its text with the change; '' if there are problems."""
    base: str = ''
    """The version of the text now."""
    restores: str = ''
    """The earlier version that would be current again; '' if a new one is made."""
    warnings: tuple[str, ...] = ()
    """What a person should know before, in sentences."""
    note: str = ''
    """What the list of versions would say of a new one."""


class NoLaunchDefault(EngineError):
    """No variant has been made the default of this pattern, or this version of its chart."""

    def __init__(self, pattern: str) -> None:
        super().__init__(f'no variant has been made the default of the pattern {pattern!r}')

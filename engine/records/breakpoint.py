"""Breakpoint: where or when a run should stop, and its journaled form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from engine.errors import InvalidInput

Stop = Literal['run', 'region']
MAX_BREAKPOINTS = 100
"""Maximum number of breakpoints of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """Where or when a run should stop: at most one place, a condition, or both.

    It is checked after each step, before the work caused by that step starts. With a place, it stops the run
    whenever a step reaches the place and the condition holds. Without one, it stops the run when the
    condition becomes true, or immediately if it is already true when the breakpoint is set.
    """

    id: str = ''
    """Its number in the run, from '1'; '' is replaced by the next free number."""
    enter: str = ''
    """The path of the state to stop at on entry."""
    leave: str = ''
    """The path of the state to stop at on exit."""
    edge: str = ''
    """The edge to stop at: `source>dest`, or `source>source` for an internal transition."""
    when: str = ''
    """A condition; see `engine.runtime.debugger.condition`."""
    enabled: bool = True
    once: bool = False
    """Whether it is disabled after its first hit."""
    stop: Stop = 'run'
    """What to hold: the whole run, or only the region where it was hit while the others continue."""
    hits: int = 0
    """Number of hits, counted by the run."""
    problem: str = ''
    """Why its condition could not be evaluated the last time that happened; set by the run."""

    @property
    def place(self) -> str:
        """The place in words; '' if it applies anywhere."""
        named = (('enter', self.enter), ('leave', self.leave), ('edge', self.edge.replace('>', ' → ')))
        return next((f'{word} {path}' for word, path in named if path), '')

    @property
    def label(self) -> str:
        """The place and the condition in words."""
        return ' when '.join(filter(None, (self.place, self.when))) or 'nothing'


def dump_breakpoints(breakpoints: Sequence[Breakpoint]) -> list[dict[str, Any]]:
    """Convert breakpoints to JSON."""
    return [asdict(item) for item in breakpoints]


def load_breakpoints(values: Any) -> tuple[Breakpoint, ...]:
    """Read breakpoints from the journal or from a caller.

    Raises:
        InvalidInput: not a list of breakpoints; names the field.
    """
    if not isinstance(values, list | tuple) or len(values) > MAX_BREAKPOINTS:
        raise InvalidInput({'breakpoints': f'must be a list of at most {MAX_BREAKPOINTS}'})
    return tuple(_load(number, item) for number, item in enumerate(values))


def _load(number: int, value: Any) -> Breakpoint:
    if isinstance(value, Breakpoint):
        value = asdict(value)
    where = f'breakpoints.{number}'
    if not isinstance(value, Mapping):
        raise InvalidInput({where: 'must be a breakpoint'})
    problems = {
        f'{where}.{name}': f'there is no such field; available: {", ".join(FIELD_TYPES)}'
        for name in value
        if name not in FIELD_TYPES
    }
    for name, kind in FIELD_TYPES.items():
        if name in value and type(value[name]) is not kind:
            problems[f'{where}.{name}'] = f'must be {TYPE_NAMES[kind]}, not {value[name]!r}'
    if value.get('stop', 'run') not in get_args(Stop):
        problems[f'{where}.stop'] = f'must be run or region, not {value["stop"]!r}'
    if problems:
        raise InvalidInput(problems)
    return Breakpoint(**value)


FIELD_TYPES: dict[str, type] = {item.name: type(item.default) for item in fields(Breakpoint)}
TYPE_NAMES = {str: 'text', bool: 'true or false', int: 'a number'}


def number_breakpoints(breakpoints: Sequence[Breakpoint]) -> tuple[Breakpoint, ...]:
    """Number the breakpoints without a number, avoiding all numbers in use."""
    last = max((int(item.id) for item in breakpoints if item.id.isdecimal()), default=0)
    numbered = []
    for item in breakpoints:
        last += not item.id
        numbered.append(item if item.id else replace(item, id=str(last)))
    return tuple(numbered)

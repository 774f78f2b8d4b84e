"""Breakpoint: where, or when, a run is to stop; and how it is kept in a journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from engine.errors import InvalidInput

Stop = Literal['run', 'region']
MOST = 100
"""Breakpoints of one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """Where, or when, a run is to stop. It has one place at most, a condition, or both.

    It is looked at after each step of the run, before anything starts because of that step. Where it has a
    place, it stops the run each time that a step gets there and the condition holds. Where it has none, it
    stops the run when the condition comes to hold: at once, if it holds when it is set.
    """

    id: str = ''
    """Its number in the run, from '1' on; '' is given the next."""
    enter: str = ''
    """The path of a state that is entered."""
    leave: str = ''
    """The path of a state that is left."""
    edge: str = ''
    """An edge that is taken: `source>dest`, or `source>source` for one that leaves nothing."""
    when: str = ''
    """A condition; see `engine.stepping.expression`."""
    enabled: bool = True
    once: bool = False
    """Whether it is disabled when it has been hit."""
    stop: Stop = 'run'
    """What is held: the whole run, or only the region in which it was hit, so that the others go on."""
    hits: int = 0
    """How often it was hit; counted by the run."""
    problem: str = ''
    """Why its condition could not be evaluated, the last time that it could not; said by the run."""

    @property
    def place(self) -> str:
        """Where it is, in words; '' where it is anywhere."""
        named = (('enter', self.enter), ('leave', self.leave), ('edge', self.edge.replace('>', ' → ')))
        return next((f'{word} {path}' for word, path in named if path), '')

    @property
    def label(self) -> str:
        """Place and condition in words."""
        return ' when '.join(filter(None, (self.place, self.when))) or 'nothing'


def dumped(breakpoints: Sequence[Breakpoint]) -> list[dict[str, Any]]:
    """As JSON."""
    return [asdict(item) for item in breakpoints]


def loaded(told: Any) -> tuple[Breakpoint, ...]:
    """As they were journaled, or as somebody sends them.

    Raises:
        InvalidInput: it is no list of breakpoints; it names the field.
    """
    if not isinstance(told, list | tuple) or len(told) > MOST:
        raise InvalidInput({'breakpoints': f'must be a list of at most {MOST}'})
    return tuple(_loaded(number, item) for number, item in enumerate(told))


def _loaded(number: int, told: Any) -> Breakpoint:
    if isinstance(told, Breakpoint):
        told = asdict(told)
    where = f'breakpoints.{number}'
    if not isinstance(told, Mapping):
        raise InvalidInput({where: 'must be a breakpoint'})
    problems = {
        f'{where}.{name}': f'there is no such field; there are: {", ".join(KINDS)}'
        for name in told
        if name not in KINDS
    }
    for name, kind in KINDS.items():
        if name in told and type(told[name]) is not kind:
            problems[f'{where}.{name}'] = f'must be {NAMES[kind]}, not {told[name]!r}'
    if told.get('stop', 'run') not in get_args(Stop):
        problems[f'{where}.stop'] = f'must be run or region, not {told["stop"]!r}'
    if problems:
        raise InvalidInput(problems)
    return Breakpoint(**told)


KINDS: dict[str, type] = {item.name: type(item.default) for item in fields(Breakpoint)}
NAMES = {str: 'a text', bool: 'true or false', int: 'a number'}


def numbered(breakpoints: Sequence[Breakpoint], taken: Sequence[Breakpoint] = ()) -> tuple[Breakpoint, ...]:
    """With a number for those that have none; none is given twice, nor one that stood in `taken`."""
    known = [*breakpoints, *taken]
    last = max((int(item.id) for item in known if item.id.isdecimal()), default=0)
    made = []
    for item in breakpoints:
        last += not item.id
        made.append(item if item.id else replace(item, id=str(last)))
    return tuple(made)

"""The grounds of guards: what each says of itself, and what it looked at when it answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.path import parent_of
from engine.pointer import lookup, parts_of
from engine.records import Event, StatePath
from engine.shape import listed, name_of, stated, walk
from engine.sight import At, Is, Look, Reader

if TYPE_CHECKING:
    from engine.pattern import Pattern

MOST = 6
"""Things that a guard is said to look at."""
MISSING = object()


@dataclass(frozen=True, slots=True)
class Ground:
    """What there is to say of a guard's answer without asking it again."""

    says: str
    """The first sentence of its docstring, or ''."""
    values: tuple[tuple[str, Any], ...] = ()
    """What it looks at, as far as that can be seen: names, and the JSON values that were there."""


class Grounds:
    """The grounds of all guards of a run.

    Nothing of the pattern is called: what its functions look at is read off their source. So this is what the
    pattern does now; of a run that is older, the values are its own, and their choice may be another one.
    """

    def __init__(self, pattern: Pattern | None, parameters: Mapping[str, Any]) -> None:
        """Read a pattern; None is one that there is no more, and of which nothing is known."""
        self._parameters = parameters
        self._known: dict[tuple[str, str, str], tuple[str, tuple[Look, ...]]] = {}
        for edge, item in stated(pattern, walk(pattern.chart_states())) if pattern else ():
            home = parent_of(edge.source)
            for guard in (*listed(item.get('conditions')), *listed(item.get('unless'))):
                self._known[edge.source, edge.dest, name_of(guard)] = _read(pattern, guard, home)

    def of(self, source: str, dest: str, guard: str, before: Mapping[str, Any], event: Event) -> Ground:
        """What a guard of an edge saw.

        Args:
            source: where the edge comes from.
            dest: where it leads to.
            guard: its name.
            before: the fold's document before the step.
            event: what the step answered.
        """
        says, looks = self._known.get((source, dest, guard), ('', ()))
        came = {'data': event.data, 'ran': event.ran, 'time': event.time}
        document = {**before, 'parameters': self._parameters, 'event': came}
        found = ((_named(look, document), _value(look, document)) for look in looks)
        return Ground(says, tuple((name, value) for name, value in found if value is not MISSING))


def _read(pattern: Any, guard: str | Callable[..., Any], home: StatePath) -> tuple[str, tuple[Look, ...]]:
    reader, itself, event = Reader(pattern), Is(pattern), At('/event')
    if isinstance(guard, str):
        function = getattr(type(pattern), guard, None)
        reader.follow(function, [itself, At('/memory', pattern.Memory), event])
    else:
        function, given = (guard.func, guard.args) if isinstance(guard, partial) else (guard, ())
        code = getattr(function, '__code__', None)
        named = zip(code.co_varnames if code else (), given, strict=False)
        scope = Is(_Scope(itself, At('', pattern.Memory), home))
        reader.follow(function, [*(Is(value, name) for name, value in named), scope, event])
    says = (getattr(function, '__doc__', None) or '').strip().partition('\n')[0]
    return says, tuple(reader.looks)[:MOST]


@dataclass(frozen=True, slots=True)
class _Scope:
    """Stands for the `Scope` that a function of the engine's own gets."""

    pattern: Is
    state: At
    path: str


def _value(look: Look, document: Any) -> Any:
    return lookup(document, _parts(look.pointer, document), MISSING) if look.pointer else look.value


def _parts(pointer: str, document: Any) -> Iterator[str]:
    for part in parts_of(pointer):
        inner = part.startswith('{')
        yield str(_value(Look(pointer=part[1:-1]), document)) if inner else part


def _named(look: Look, document: Any) -> str:
    """Where it is, for people: memory and parameters need no word."""
    if not look.pointer:
        return look.named
    root, *parts = _parts(look.pointer, document)
    match root:
        case 'agents':
            parts[0] = 'agent'
        case 'event':
            parts = [root, *(part for part in parts if part != 'data')]
    return '.'.join(parts)

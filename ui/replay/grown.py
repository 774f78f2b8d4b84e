"""Which step of a run added each element of the lists in its memory that only grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from engine import Shape, Transition


class At(NamedTuple):
    """A step and its time (seconds since 1970)."""

    seq: int
    time: float


class Grown:
    """An index of the steps read so far: for each list, where its elements are from."""

    def __init__(self, fields: Iterable[str]) -> None:
        self._lists: dict[str, list[At]] = {field: [] for field in fields if field}

    @classmethod
    def of(cls, shape: Shape) -> Grown:
        """The lists that a run's pages show: messages, verdicts and interventions."""
        oversight = shape.oversight
        more = (oversight.verdicts, oversight.interventions) if oversight else ()
        return cls((shape.messages, *more))

    def steps(self, field: str) -> list[At]:
        """Where each element is from, in the order of the list."""
        return self._lists.get(field, [])

    def take(self, step: Transition) -> None:
        """Go on by one step."""
        if not self._lists:
            return
        here = At(step.seq, step.time)
        if step.event.name == 'start' and isinstance(memory := step.event.data.get('memory'), Mapping):
            for field in self._lists:
                self._set(field, memory.get(field), here)
        for change in step.changes:
            field = change.path.removeprefix('/memory/').partition('/')[0]
            if field not in self._lists or not change.path.startswith('/memory/'):
                continue
            if change.path == f'/memory/{field}':
                self._set(field, change.value, here)
            elif change.op == 'add':
                self._lists[field].append(here)

    def _set(self, field: str, value: Any, here: At) -> None:
        many = len(value) if isinstance(value, list) else 0
        self._lists[field] = [*self._lists[field][:many], *[here] * (many - len(self._lists[field]))]

"""ChartEdit: the base of all edits, and what they have in common."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import yaml
from pydantic import Field

from engine.charts.edits.document import Document
from engine.charts.edits.outline import Outline, is_empty, pair_at
from engine.errors import InvalidInput
from engine.records import StatePath
from engine.records.frozen import FrozenModel

CHART_ORDER = (
    'chart', 'title', 'summary', 'family', 'suits', 'aliases', 'parameters', 'records', 'inputs', 'memory',
    'answer', 'caveat', 'panels', 'marks', 'words', 'wait_texts', 'projects', 'roles', 'guards', 'actions',
    'initial', 'states', 'transitions', 'scenarios', 'stubs',
)  # fmt: skip
"""The keys of a chart in the order in which new ones are put."""
STATE_ORDER = (
    'agent', 'waits', 'final', 'outcome', 'output', 'prompt', 'then', 'enter', 'exit', 'on_step', 'within',
    'seat', 'retry', 'initial', 'states', 'parallel', 'transitions',
)  # fmt: skip
EDGE_ORDER = ('on', 'from', 'to', 'history', 'if', 'unless', 'do', 'after')


class ChartEdit(FrozenModel):
    """A change of a chart's text, as a click makes it."""

    @abstractmethod
    def change(self, outline: Outline) -> None:
        """Replace pieces of the text. Raises `InvalidInput`: why that is not possible, by field."""

    def apply(self, text: str) -> str:
        """Return the text after the edit; all that it does not touch stays as it is.

        Raises:
            InvalidInput: why it cannot be applied, by field; or the line in which the text is no YAML.
        """
        outline = Outline(Document(text))
        self.change(outline)
        return outline.document.apply()


class EdgeEdit(ChartEdit):
    """A change of one transition, given as a diagram shows it."""

    trigger: str
    source: StatePath
    dest: str = ''
    """'' if it leads nowhere."""
    number: int = Field(0, ge=0)
    """Which one, if several are the same in all this; in the order in which they are tried."""


class Keys(NamedTuple):
    """The keys of a mapping in the text, and the order in which new ones are put."""

    document: Document
    body: yaml.MappingNode
    order: tuple[str, ...]

    def set(self, key: str, value: Any) -> None:
        """Set a key; None deletes it."""
        if value is not None:
            self.put(key, value)
        elif pair_at(self.body, key) is not None:
            self.document.delete(self.body, {self._names.index(key)})

    def put(self, key: str, value: Any) -> None:
        """Set a key, to null as well."""
        pair = pair_at(self.body, key)
        if pair is not None:
            self.document.set_value(*pair, value)
            return
        names, before = self._names, self.order[: self.order.index(key)]
        index = max((names.index(name) + 1 for name in before if name in names), default=0)
        self.document.insert_key(self.body, index, key, value)

    @property
    def _names(self) -> list[str]:
        return [name.value for name, _ in self.body.value]

    def add(self, key: str, name: str, value: Any, at: int | None = None) -> None:
        """Add `name: value` to the mapping at a key, which is made if need be; at the end by default."""
        if (pair := self._filled(key, {name: value})) is None:
            return
        if not isinstance(pair[1], yaml.MappingNode):
            raise InvalidInput({f'line {self.document.line(pair[1])}': f'`{key}` is no mapping'})
        self.document.insert_key(pair[1], len(pair[1].value) if at is None else at, name, value)

    def append(self, key: str, value: Any, at: int | None = None) -> None:
        """Add a value to the list at a key, which is made if need be; at the end by default."""
        if (pair := self._filled(key, [value])) is None:
            return
        if not isinstance(pair[1], yaml.SequenceNode):
            raise InvalidInput({f'line {self.document.line(pair[1])}': f'`{key}` is no list'})
        self.document.insert_item(pair[1], len(pair[1].value) if at is None else at, value)

    def _filled(self, key: str, first: Any) -> tuple[yaml.Node, yaml.Node] | None:
        """Return a key that has a value; None if it had none, and now has this one."""
        pair = pair_at(self.body, key)
        if pair is not None and not is_empty(pair[1]):
            return pair
        if pair is None:
            self.set(key, first)
        else:
            self.document.fill(*pair, first)
        return None


def keys_of(outline: Outline, path: StatePath, field: str = 'state') -> Keys:
    """Return the keys of a state, or of the chart for ''. Raises `InvalidInput`: it has none."""
    body = outline.body(path, field)
    if not isinstance(body, yaml.MappingNode) or is_empty(body):
        raise InvalidInput({field: f'{path!r} is empty'})
    return Keys(outline.document, body, STATE_ORDER if path else CHART_ORDER)


def relative(path: str, scope: str) -> str:
    """Return how a state is named in a scope that it is in."""
    return path.removeprefix(f'{scope}.') if scope else path


def guards(*names: str) -> str | list[str] | None:
    """Return guards as an edge has them: one alone, a list of several, None for none."""
    return list(names) if len(names) > 1 else names[0] if names else None

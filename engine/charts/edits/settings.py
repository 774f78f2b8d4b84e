"""Edits that change what runs start with: a parameter's default, a role's instructions and tools."""

from __future__ import annotations

from typing import Any, Literal

import yaml
from pydantic import JsonValue

from engine.charts.compiling.templates import is_template
from engine.charts.edits.base import ChartEdit, Keys
from engine.charts.edits.outline import Outline, Pair, is_empty, pair_at, pairs_of, value_at
from engine.errors import InvalidInput

FIELD_ORDER = ('type', 'title', 'description', 'default')
ROLE_ORDER = ('title', 'instructions', 'tools')


class SetDefault(ChartEdit):
    """Give a parameter a default, or another one."""

    kind: Literal['set default'] = 'set default'
    parameter: str
    value: JsonValue

    def change(self, outline: Outline) -> None:
        """Set it."""
        pair = pair_at(value_at(outline.document.root, 'parameters'), self.parameter)
        if pair is None:
            raise InvalidInput({'parameter': f'the chart has no parameter {self.parameter!r}'})
        if isinstance(pair[1], yaml.MappingNode) and not is_empty(pair[1]):
            Keys(outline.document, pair[1], FIELD_ORDER).put('default', self.value)
        else:  # Only the name of its type, or nothing.
            named = {} if is_empty(pair[1]) else {'type': pair[1].value}
            outline.document.set_value(*pair, {**named, 'default': self.value})


class SetRole(ChartEdit):
    """Set the instructions or the tools of a role; None leaves them as they are."""

    kind: Literal['set role'] = 'set role'
    role: str
    """Its name, as agents have it."""
    instructions: str | None = None
    """As the model is to read them: what looks like a template is put so that it is none."""
    tools: tuple[str, ...] | None = None

    def change(self, outline: Outline) -> None:
        """Set them."""
        pair = self._find(outline)
        values: dict[str, Any] = {}
        if self.instructions is not None:
            values['instructions'] = _verbatim(self.instructions)
        if self.tools is not None:
            values['tools'] = list(self.tools)
        if is_empty(pair[1]):
            outline.document.fill(*pair, values)
            return
        assert isinstance(pair[1], yaml.MappingNode)
        for name, value in values.items():
            Keys(outline.document, pair[1], ROLE_ORDER).put(name, value)

    def _find(self, outline: Outline) -> Pair:
        roles = pairs_of(value_at(outline.document.root, 'roles'))
        for key, body in roles:
            name = value_at(body, 'name')
            loops = value_at(body, 'for') is not None
            if not loops and self.role == (name.value if name is not None and name.value else key.value):
                return key, body
        if any(value_at(body, 'for') is not None for _, body in roles):
            problem = f'the chart makes the role {self.role!r} by `for`, together with others'
        else:
            problem = f'the chart has no role {self.role!r}'
        raise InvalidInput({'role': problem})


def _verbatim(text: str) -> str:
    """Return a template that gives this text: Jinja also takes away the line end at its end."""
    raw = f'{{% raw %}}{text}{{% endraw %}}' if is_template(text) else text
    return f'{raw}\n' if raw.endswith('\n') else raw

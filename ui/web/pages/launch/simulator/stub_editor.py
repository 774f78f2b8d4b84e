"""What is given with a choice: a form, a text, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engine import InvalidInput
from engine.operations.rehearsal.simulator import Choice, Kind
from ui.formatting.values import json_problem
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Box, Text, label, set_attributes, text_area


class StubEditor:
    """Edits what comes with a choice, where it is drawn."""

    def __init__(self, choice: Choice, draft: Any, on_change: Callable[[], None]) -> None:
        """Draw it with a draft."""
        self._choice, self._on_change = choice, on_change
        self._form: Form | None = None
        self._by_json = False
        in_words = choice.kind is Kind.REPLY and choice.record is None
        if in_words:
            self._text = text_area(draft if isinstance(draft, str) else '')
            self._text.on_value_change(lambda _: on_change())
            label('Answer', self._text).move(target_index=0)
            return
        if choice.record is not None:
            with Box('ghost') as self._fields:
                self._form = Form(choice.record, on_change=on_change)
            self._form.set_values(draft if isinstance(draft, dict) else {})
        with Box('fold', 'details') as fold:
            Text('summary', 'As JSON' if self._form else 'What it gives')
            self._text = text_area(_json(draft), spellcheck='false')
            self._text.classes('mono')
            set_attributes(self._text, aria_label='JSON')
            self._text.on_value_change(lambda _: on_change())
        if self._form is None:
            self._by_json = True
            if choice.kind is Kind.CALLS:
                fold.props('open')
        else:
            fold.on('toggle', self._toggle, js_handler='(event) => emit(event.target.open)')

    @property
    def given(self) -> Any:
        """What is given. Raises `InvalidInput`, naming the field."""
        if self._choice.kind is Kind.REPLY and self._choice.record is None:
            return str(self._text.value or '')
        if self.form is None:
            try:
                return json.loads(self._text.value or '')
            except ValueError as error:
                raise InvalidInput({'JSON': json_problem(error)}) from None
        parsed, problems = self.form.parse()
        if parsed is None:
            raise InvalidInput(problems)
        return parsed.model_dump(mode='json')

    @property
    def form(self) -> Form | None:
        """The form that is filled in, which shows its problems itself; None for a text or JSON."""
        return None if self._by_json else self._form

    def _toggle(self, event: Any) -> None:
        """Edit JSON while the fold is open, with what the form holds."""
        if self._form is None:
            return
        if event.args:
            parsed, _ = self._form.parse()
            if parsed is not None:
                self._text.set_value(_json(parsed.model_dump(mode='json')))
        elif isinstance(values := _read(self._text.value), dict):
            self._form.set_values(values)
        self._by_json = bool(event.args)
        self._fields.set_visibility(not self._by_json)
        self._on_change()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) if value is not None else '{}'


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None

"""A form drawn from a pydantic model: labels, help, bounds and problems at each field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from pydantic import BaseModel, ValidationError

from ui.formatting.values import problem_sentence, problems
from ui.web.components.forms.control import Control
from ui.web.components.forms.fields import Field, fields
from ui.web.components.widgets import Box, Text

RUN_KEYS = """(event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "Enter" || event.repeat) return;
    event.preventDefault();
    emit();
}"""
"""Handler of `keydown` in the browser: Ctrl+Enter submits a form."""


class Form:
    """The fields of `model`, drawn where the form is created; nothing typed into it is ever lost."""

    def __init__(self, model: type[BaseModel], *, on_change: Callable[[], None]) -> None:
        """Draw the form with the model's defaults; `on_change` is called after every change."""
        self._model = model
        self._on_change = on_change
        self.controls: dict[str, Control] = {}
        with Box('form'):
            for group, members in _group_by_section(fields(model)):
                if group:
                    with Box('fold', 'details'):
                        Text('summary', group)
                        with Box('form'):
                            self._draw(members)
                else:
                    self._draw(members)
            self._form_problem = Text('p', '', 'problem', role='alert')
            self._form_problem.set_visibility(False)
        self._update_applicable()

    def _draw(self, members: Iterable[Field]) -> None:
        for field in members:
            self.controls[field.name] = Control(field, on_change=self._notify, on_blur=self._check_leniently)

    @property
    def raw(self) -> dict[str, Any]:
        """The content of the controls, valid or not."""
        return {name: control.raw for name, control in self.controls.items()}

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Restore a value of `raw`; fields that it lacks are left unchanged."""
        for name, content in raw.items():
            if name in self.controls:
                self.controls[name].set_content(content)
        self.check(lenient=True)

    def set_values(self, values: Mapping[str, Any]) -> None:
        """Show these values; every other field gets its default."""
        for name, control in self.controls.items():
            control.set_content(control.field.format(values.get(name, control.field.default)))
            control.visited = False
        self.check(lenient=True)
        self._on_change()

    def check(self, *, lenient: bool = False) -> BaseModel | None:
        """Validate, and show each problem at its field.

        Args:
            lenient: omit problems of fields that are still being typed into.

        Returns:
            The parsed model, or None if something is invalid.
        """
        self._update_applicable()
        parsed, problems = self.parse()
        self._mark_problems(problems, lenient=lenient)
        return parsed

    def _update_applicable(self) -> None:
        """Show only the fields that have an effect, given the values of the others."""
        for control in self.controls.values():
            control.set_applicable(self._is_applicable(control.field))

    def _is_applicable(self, field: Field) -> bool:
        return all(
            other not in self.controls or str(self.controls[other].raw) in values
            for other, values in field.when.items()
        )

    def submit(self) -> BaseModel | None:
        """Return the parsed model; if something is invalid, focus the first problem and return None."""
        parsed = self.check()
        if parsed is None:
            self.focus_problem()
        return parsed

    def parse(self) -> tuple[BaseModel | None, dict[str, str]]:
        """Return the parsed model, if valid, and the problems by field."""
        values, unread = self._read()
        try:
            parsed = self._model.model_validate(values)
        except ValidationError as error:
            return None, problems(error) | unread
        return (None, unread) if unread else (parsed, {})

    @property
    def valid_values(self) -> dict[str, Any]:
        """The values of the fields that are valid by themselves."""
        parsed, wrong = self.parse()
        if parsed is not None:
            return parsed.model_dump(mode='json')
        bad = {name.partition('.')[0] for name in wrong}
        return {name: value for name, value in self._read()[0].items() if name not in bad}

    def _read(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values by field, and what could not be read as one."""
        values: dict[str, Any] = {}
        unread: dict[str, str] = {}
        for name, control in self.controls.items():
            field = control.field
            try:
                # What is hidden cannot be corrected: there, the default counts.
                hidden = not field.required and not self._is_applicable(field)
                values[name] = field.parse(field.format(field.default) if hidden else control.raw)
            except ValueError as error:
                unread[name] = str(error)
        return values, unread

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems that were found elsewhere, each as a sentence that says what would fit."""
        for control in self.controls.values():
            control.visited = True  # All are submitted: moving between them must not check them again.
        self._mark_problems(
            {name: problem_sentence(problem) for name, problem in problems.items()}, lenient=False
        )

    def focus_problem(self) -> None:
        """Focus the first field with a problem."""
        for control in self.controls.values():
            if control.problem:
                control.focus()
                return

    def focus(self, *, prevent_scroll: bool = False) -> None:
        """Focus the first field; with `prevent_scroll`, the page is not scrolled to it."""
        for control in self.controls.values():
            control.focus(prevent_scroll=prevent_scroll)
            return

    def _mark_problems(self, problems: Mapping[str, str], *, lenient: bool) -> None:
        for name, control in self.controls.items():
            control.show_problem(problems.get(name, ''), lenient=lenient)
        others = ' '.join(problem for name, problem in problems.items() if name not in self.controls)
        self._form_problem.show(others)
        self._form_problem.set_visibility(bool(others))

    def _notify(self) -> None:
        self.check(lenient=True)
        self._on_change()

    def _check_leniently(self) -> None:
        self.check(lenient=True)


def _group_by_section(fields: list[Field]) -> list[tuple[str, list[Field]]]:
    """Group fields by section, those without one first."""
    ordered = sorted(fields, key=lambda field: field.group)
    return [(group, list(members)) for group, members in groupby(ordered, key=lambda field: field.group)]

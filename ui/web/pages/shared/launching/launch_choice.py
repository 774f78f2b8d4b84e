"""LaunchChoice: a pattern, and what it is started with, for schedules, triggers and experiments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

from nicegui import ui
from pydantic import BaseModel, Field, create_model

from engine import Catalog, Pattern
from engine.errors import UnknownPattern
from engine.records import Launch
from ui.app.backend import Backend
from ui.web.components.forms.fields import TEXT_KINDS, fields
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Box, Text
from ui.web.pages.shared.launching.launch_fields import FOR_TRIALS, LaunchFields
from ui.web.pages.shared.launching.version_choice import VersionChoice

DEBOUNCE_SECONDS = 0.4
"""Seconds without a change before the fields of the roles follow."""
MODELS_SECONDS = 0.1
"""Seconds until the endpoints' models are asked for."""


class LaunchChoice:
    """The choice of a pattern, and the fields of a launch with it."""

    def __init__(
        self,
        backend: Backend,
        launch: Launch | None,
        *,
        on_pattern: Callable[[], None] = lambda: None,
        without: Callable[[], Collection[str]] = lambda: FOR_TRIALS,
    ) -> None:
        """Draw the choice; `show` draws the fields, in which a launch, if given, is shown.

        Args:
            backend: the way to the conductor.
            launch: what is edited.
            on_pattern: called when another pattern is chosen, before its fields are drawn.
            without: returns what is not given here: parameters, `options.title`, `launch.stubs`.
        """
        self._backend, self._launch = backend, launch
        self._on_pattern, self._without = on_pattern, without
        self._fields: LaunchFields | None = None
        self._pattern = launch.pattern if launch else ''
        self._choice = Form(_pattern_model(backend().catalog, self._pattern), on_change=self._choose)
        self._choice.set_values({'pattern': self._pattern})
        self._version = VersionChoice(backend, on_change=self._choose_version)
        self.on_edit: Callable[[], None] = lambda: None
        """Called after every change."""
        self.head = Box('ghost')
        """A place for more, between the pattern and its fields."""
        self._place = Box('form')
        self._follow = ui.timer(DEBOUNCE_SECONDS, self._update_roles, active=False, immediate=False)

    @property
    def parameters(self) -> dict[str, str]:
        """The titles of the chosen pattern's parameters, by name."""
        pattern = self._backend().catalog.patterns.get(self._pattern)
        return {field.name: field.title for field in fields(pattern.Parameters)} if pattern else {}

    def show(self) -> None:
        """Draw the fields for what is to be given here; what is entered stays."""
        raw = self._fields.raw if self._fields else {}
        if not self._fields:
            self._show_version(self._launch.version if self._launch else '')
        self._draw()
        if self._fields and raw:
            self._fields.fill(raw)
        elif self._fields and self._launch:
            self._fields.set_launch(self._launch)

    def set_launch(self, launch: Launch) -> None:
        """Show another launch."""
        self._launch, self._pattern = launch, launch.pattern
        self._choice.set_values({'pattern': launch.pattern})
        self._show_version(launch.version)
        self._draw()
        if self._fields:
            self._fields.set_launch(launch)

    def submit(self) -> Launch | None:
        """Return the launch; if a field is invalid, focus the first and return None."""
        launch = self._fields.submit(base=self._base) if self._fields else self._base
        return self._with_version(launch) if self._choice.submit() else None

    def parse(self) -> Launch | None:
        """Return the launch so far, without showing problems; None if a field is invalid."""
        return self._with_version(self._fields.parse(self._base) if self._fields else self._launch)

    @property
    def _base(self) -> Launch | None:
        """The launch that is edited, unless another pattern was chosen."""
        return self._launch if self._launch and self._launch.pattern == self._pattern else None

    def _with_version(self, launch: Launch | None) -> Launch | None:
        if launch is None or 'launch.version' in self._without():
            return launch
        return replace(launch, version=self._version.value)

    def _show_version(self, version: str) -> None:
        hidden = not self._pattern or 'launch.version' in self._without()
        self._version.show('' if hidden else self._pattern, '' if hidden else version)

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems by the paths of a launch's fields, and focus the first."""
        if self._fields:
            self._fields.show_problems(
                {name.removeprefix('parameters.'): problems[name] for name in problems}
            )

    def _on_edit(self) -> None:
        self._follow.deactivate()
        self._follow.activate()
        self.on_edit()

    def _choose_version(self) -> None:
        """Show the fields of another version; what is entered stays."""
        raw = self._fields.raw if self._fields else {}
        self._draw()
        if self._fields:
            self._fields.fill(raw)
        self.on_edit()

    def _update_roles(self) -> None:
        self._follow.deactivate()
        if self._fields:
            self._fields.update_shape()

    def _choose(self) -> None:
        """Show the fields of another pattern; texts for which it has a field as well stay."""
        if self._choice.raw['pattern'] == self._pattern:
            return
        self._pattern = self._choice.raw['pattern']
        before = self._fields.parameters.controls if self._fields else {}
        self._show_version('')
        self._on_pattern()
        self._draw()
        after = self._fields.parameters.controls if self._fields else {}
        for name in before.keys() & after.keys():
            if {before[name].field.kind, after[name].field.kind} <= set(TEXT_KINDS):
                after[name].set_content(before[name].raw)
        self.on_edit()

    def _draw(self) -> None:
        pattern = self._find_pattern()
        self._place.clear()
        self._fields = None
        with self._place:
            if pattern is None:
                if self._pattern:
                    what = 'version' if self._version.value else 'pattern'
                    Text('p', f'This {what} is not available here. Its input stays as it is.', 'muted')
                return
            self._fields = LaunchFields(
                self._backend,
                pattern,
                on_change=self._on_edit,
                without=self._without(),
            )
            self._fields.update_shape()
            ui.timer(MODELS_SECONDS, self._fields.models.load, once=True)

    def _find_pattern(self) -> type[Pattern] | None:
        if not self._pattern:
            return None
        try:
            return self._backend().catalog.pattern(self._pattern, self._version.value)
        except UnknownPattern:
            return None


def _pattern_model(catalog: Catalog, chosen: str) -> type[BaseModel]:
    """Return the form's model of the choice of a pattern, among those available and the one `chosen`."""
    labels = {name: pattern.title for name, pattern in catalog.patterns.items()}
    names = tuple(sorted({*labels, *filter(None, [chosen])}, key=lambda name: labels.get(name, name)))
    choice: Any = Literal[names], Field(title='Pattern', json_schema_extra={'labels': {**labels}})
    return create_model('PatternField', pattern=choice)

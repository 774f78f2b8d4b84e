"""RoleFields: a collapsible section with one field for all roles and one for each role of the chart."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from ui.formatting.values import problem_sentence
from ui.web.components.forms.control import Control
from ui.web.components.widgets import Box, Text

ControlT = TypeVar('ControlT', bound=Control)


class RoleFields(Generic[ControlT]):
    """The section, drawn collapsed; `set_roles` sets the roles it has fields for."""

    _all: ControlT

    def __init__(self, title: str, style: str) -> None:
        """Draw it with its fixed fields."""
        self._roles: dict[str, ControlT] = {}
        with Box(f'fold {style}', 'details', aria_label=title):
            with Box(tag='summary'):
                Text('span', title)
                self._brief = Text('span', '', 'muted brief')
            with Box('form'):
                self._draw_fixed()
                self._place = Box('role-models')
        self._summarize()

    @abstractmethod
    def _draw_fixed(self) -> None:
        """Draw the fixed fields, including `_all`."""

    @abstractmethod
    def _draw_role(self, role: str) -> ControlT: ...

    @abstractmethod
    def _summarize(self) -> None:
        """Update the summary of the choices."""

    @property
    @abstractmethod
    def _controls(self) -> dict[str, ControlT]:
        """All fields, by their names in `raw`."""

    def set_roles(self, roles: Iterable[str]) -> None:
        """Draw a field for each of these roles; roles that remain keep their content."""
        names = list(dict.fromkeys(roles))
        if names == list(self._roles):
            return
        content = self.raw
        self._place.clear()
        with self._place:
            self._roles = {role: self._draw_role(role) for role in names}
        self.fill(content)

    @property
    def raw(self) -> dict[str, str]:
        """The content of the fields, valid or not."""
        return {name: str(control.raw) for name, control in self._controls.items()}

    def fill(self, raw: Mapping[str, str]) -> None:
        """Restore the content of `raw`; fields it does not name are cleared."""
        for name, control in self._controls.items():
            control.set_content(str(raw.get(name, '')))
        self._summarize()

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems found when starting the run, by role or '' for all roles."""
        for role, problem in problems.items():
            self._roles.get(role, self._all).show_problem(problem_sentence(problem), lenient=False)

    def focus_problem(self) -> None:
        """Focus the first field with a problem."""
        for control in self._controls.values():
            if control.problem:
                control.focus()
                return

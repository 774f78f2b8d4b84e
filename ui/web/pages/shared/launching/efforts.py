"""The reasoning effort of each role's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui.elements.mixins.value_element import ValueElement

from engine.models import EFFORT_LEVELS, EFFORT_SYNTAX, is_effort
from ui.formatting.steps import role_title
from ui.formatting.values import count, problem_sentence
from ui.web.components.elements import Combobox
from ui.web.components.forms.control import Control
from ui.web.components.forms.fields import Field
from ui.web.components.widgets import set_attributes
from ui.web.pages.shared.launching.role_fields import RoleFields

ALL = Field(
    name='',
    kind='model',
    title='Effort of all roles',
    help='A level or a number of thinking tokens; models differ in what they support',
)
MODEL_DEFAULT = 'model default'


class EffortControl(Control):
    """A field for a level or a number of tokens."""

    def _draw(self) -> ValueElement[Any]:
        self.box = Combobox(
            '', label='Levels', empty_text='No match. You can enter a number of tokens.', single=True
        )
        self.box.set_groups([{'label': 'Levels', 'note': '', 'options': list(EFFORT_LEVELS)}])
        set_attributes(self.box, placeholder='same as all roles' if self.field.name else MODEL_DEFAULT)
        return self.box


class Efforts(RoleFields[EffortControl]):
    """Fields for the reasoning effort of each role, and one for all."""

    def __init__(self, *, on_change: Callable[[], None]) -> None:
        """Draw it collapsed."""
        self._on_change = on_change
        super().__init__('Reasoning effort', 'efforts-fold')

    def _draw_fixed(self) -> None:
        self._all = self._draw_control(ALL)

    def _draw_role(self, role: str) -> EffortControl:
        return self._draw_control(Field(name=role, kind='model', title=f'{role_title(role)} effort'))

    def _draw_control(self, field: Field) -> EffortControl:
        return EffortControl(field, on_change=self._notify, on_blur=self._check_visited)

    @property
    def _controls(self) -> dict[str, EffortControl]:
        return {'': self._all, **self._roles}

    @property
    def chosen(self) -> dict[str, str]:
        """The efforts by role, valid or not; '' is the default."""
        return {role: effort for role, raw in self.raw.items() if (effort := raw.strip())}

    def check(self) -> bool:
        """Return whether all fields are valid; problems are shown at their fields."""
        return all([self._check_control(control) for control in self._controls.values()])

    def _check_control(self, control: EffortControl) -> bool:
        effort = str(control.raw).strip()
        problem = '' if not effort or is_effort(effort) else problem_sentence(EFFORT_SYNTAX)
        control.show_problem(problem, lenient=False)
        return not problem

    def _check_visited(self) -> None:
        for control in self._controls.values():
            if control.visited:
                self._check_control(control)

    def _notify(self) -> None:
        self._check_visited()
        self._summarize()
        self._on_change()

    def _summarize(self) -> None:
        chosen = self.chosen
        roles = count(len(chosen) - ('' in chosen), 'role')
        named = f'{roles} set' if chosen.keys() - {''} else ''
        self._brief.show(', '.join(filter(None, [chosen.get('', ''), named])) or MODEL_DEFAULT)

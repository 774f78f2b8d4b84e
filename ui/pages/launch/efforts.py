"""How much each role's model thinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement

from engine.models import EFFORT_LEVELS, EFFORT_SYNTAX, is_effort
from ui.components.elements import Combobox
from ui.components.forms.control import Control
from ui.components.forms.fields import Field
from ui.components.widgets import Text, set_attributes
from ui.formatting.values import count

ALL = Field(
    name='',
    kind='model',
    title='Effort of all roles',
    help='A level, or a number of thinking tokens; not every model takes each',
)
LEFT_OPEN = 'left to the model'


class EffortControl(Control):
    """A field for a level or a number of tokens."""

    def _draw(self) -> ValueElement[Any]:
        self.box = Combobox('', label='Levels', none='Any number of tokens can be typed.', single=True)
        self.box.offer([{'label': 'Levels', 'note': '', 'options': list(EFFORT_LEVELS)}])
        return self.box


class Efforts:
    """A collapsible section with a field per role; `cast` sets the roles."""

    def __init__(self, *, on_change: Callable[[], None]) -> None:
        """Draw it collapsed."""
        self._on_change = on_change
        self._roles: dict[str, EffortControl] = {}
        with ui.element('details').classes('fold efforts-fold'):
            with ui.element('summary'):
                Text('span', 'Reasoning effort')
                self._brief = Text('span', '', 'muted brief')
            with ui.element('div').classes('form'):
                self._all = self._line(ALL)
                with ui.element('div').classes('role-models') as self._place:
                    pass
        self._tell()

    def _line(self, field: Field) -> EffortControl:
        control = EffortControl(field, on_change=self._notify, on_leave=self._judge_left)
        set_attributes(control.box, placeholder='same as all roles' if field.name else LEFT_OPEN)
        return control

    @property
    def _controls(self) -> dict[str, EffortControl]:
        return {'': self._all, **self._roles}

    def cast(self, roles: Iterable[str]) -> None:
        """Have a field for each of these roles; roles that stay keep their content."""
        wanted = list(dict.fromkeys(roles))
        if wanted == list(self._roles):
            return
        said = self.chosen
        self._place.clear()
        with self._place:
            self._roles = {
                role: self._line(
                    Field(name=role, kind='model', title=f'{role.replace("_", " ").capitalize()} effort')
                )
                for role in wanted
            }
        self.fill(said)

    @property
    def chosen(self) -> dict[str, str]:
        """The efforts by role, valid or not; '' is the default."""
        raw = {role: str(control.raw).strip() for role, control in self._controls.items()}
        return {role: effort for role, effort in raw.items() if effort}

    def fill(self, efforts: Mapping[str, str]) -> None:
        """Show these efforts; other fields are cleared."""
        for role, control in self._controls.items():
            control.put(str(efforts.get(role, '')))
        self._tell()

    def check(self) -> bool:
        """Whether all are efforts; problems are shown at their fields."""
        return all([self._judge(control) for control in self._controls.values()])

    def refuse(self, problems: Mapping[str, str]) -> None:
        """Show problems found at the start: by role, or '' for all."""
        for role, problem in problems.items():
            self._roles.get(role, self._all).complain(problem, gently=False)

    def go_to_problem(self) -> None:
        """Focus the first field with a problem."""
        for control in self._controls.values():
            if control.problem:
                control.focus()
                return

    def _judge(self, control: EffortControl) -> bool:
        effort = str(control.raw).strip()
        problem = '' if not effort or is_effort(effort) else f'It {EFFORT_SYNTAX}.'
        control.complain(problem, gently=False)
        return not problem

    def _judge_left(self) -> None:
        for control in self._controls.values():
            if control.visited:
                self._judge(control)

    def _notify(self) -> None:
        self._judge_left()
        self._tell()
        self._on_change()

    def _tell(self) -> None:
        chosen = self.chosen
        roles = count(len(chosen) - ('' in chosen), 'role')
        named = f'{roles} set' if chosen.keys() - {''} else ''
        self._brief.show(', '.join(filter(None, [chosen.get('', ''), named])) or LEFT_OPEN)

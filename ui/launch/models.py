"""Which model plays which role: a line for all, one for each, and what of the run will be live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.value_element import ValueElement

from engine import HOMES, Offer, Offered
from ui.elements import Combobox
from ui.forms.control import Control
from ui.forms.fields import Field
from ui.parts import Text, attach
from ui.presenters.words import count

PLAYED = 'scripted'
"""The model where none is named."""
ALL = Field(
    name='',
    kind='model',
    title='Model for all roles',
    help='A name is endpoint/model; with commas between several, the next takes over',
)
FALLBACK = Field(
    name='fallback',
    kind='model',
    title='Fallback',
    help='Takes over where any cannot answer',
)
PLACEHOLDERS = {'': PLAYED, 'fallback': 'none'}
SIMULATED = 'Simulated: the scripted model answers. No key, no network, free.'


class ModelControl(Control):
    """A line for one model, or for several with commas between: the next one takes over."""

    def _drawn(self) -> ValueElement[Any]:
        self.box = Combobox('', label='Those there are')
        return self.box


class Models:
    """The fold with a line for each role; the roles are known once `cast` is told of them."""

    def __init__(self, offer: Offer, *, on_change: Callable[[], None]) -> None:
        """Draw it, shut; `look` fills the lists."""
        self._offer, self._on_change = offer, on_change
        self._roles: dict[str, ModelControl] = {}
        self._busy = ''
        with ui.element('details').classes('fold models-fold'):
            with ui.element('summary'):
                Text('span', 'Models')
                self._brief = Text('span', '', 'muted brief')
            with ui.element('div').classes('form'):
                with ui.element('div').classes('pair'):
                    self._all, self._fallback = self._line(ALL), self._line(FALLBACK)
                with ui.element('div').classes('role-models') as self._place:
                    pass
        self._tell()

    def _line(self, field: Field) -> ModelControl:
        control = ModelControl(field, on_change=self._changed, on_leave=self.check_gently)
        control.box.offer(self._groups(), self._busy)
        attach(control.box, placeholder=PLACEHOLDERS.get(field.name, 'as for all roles'))
        return control

    @property
    def _controls(self) -> dict[str, ModelControl]:
        return {'': self._all, 'fallback': self._fallback} | {
            f'role:{role}': control for role, control in self._roles.items()
        }

    def cast(self, roles: Iterable[str]) -> None:
        """Have a line for each of these roles; what was said of those that stay stays."""
        wanted = list(dict.fromkeys(roles))
        if wanted == list(self._roles):
            return
        said = self.raw
        self._place.clear()
        self._roles = {}
        with self._place:
            for role in wanted:
                title = role.replace('_', ' ').capitalize()
                self._roles[role] = self._line(Field(name=role, kind='model', title=title))
        self.fill(said)

    @property
    def raw(self) -> dict[str, str]:
        """What the lines hold, valid or not."""
        return {name: str(control.raw) for name, control in self._controls.items()}

    def fill(self, raw: Mapping[str, str]) -> None:
        """Put back what `raw` gave; a line that it does not name is emptied."""
        for name, control in self._controls.items():
            control.put(str(raw.get(name, '')))
        self.check_gently()
        self._tell()

    def again(self, models: Mapping[str, str]) -> None:
        """Show the models of an earlier run."""
        first, _, fallback = models.get('', '').partition(',')
        fallback = fallback.strip()
        raw = {'': '' if first.strip() == PLAYED else first.strip(), 'fallback': fallback}
        for role, named in models.items():
            if role:
                raw[f'role:{role}'] = named.removesuffix(f', {fallback}') if fallback else named
        self.fill(raw)

    @property
    def chosen(self) -> dict[str, str]:
        """Models by role, as a run is started with; '' is the default."""
        fallback = _names(self._fallback.raw)
        default = _names(self._all.raw)
        chosen = {'': default} if default or fallback else {}
        chosen |= {role: names for role, control in self._roles.items() if (names := _names(control.raw))}
        for role, names in chosen.items():
            chosen[role] = [*(names or [PLAYED]), *(fallback if len(names) < 2 else [])]
        return {role: ', '.join(dict.fromkeys(names)) for role, names in chosen.items()}

    def check(self) -> bool:
        """Whether all models are there; what is wrong is shown at its line."""
        return all([self._judge(control, gently=False) for control in self._controls.values()])

    def check_gently(self) -> None:
        """Show what is wrong, but not while a name is being typed."""
        for control in self._controls.values():
            self._judge(control, gently=True)

    def refuse(self, problems: Mapping[str, str]) -> None:
        """Show problems that were found when the run was to start: by role, or '' for all."""
        for role, problem in problems.items():
            self._roles.get(role, self._all).complain(problem, gently=False)

    def go_to_problem(self) -> None:
        """Move to the first line that has a problem."""
        for control in self._controls.values():
            if control.problem:
                control.focus()
                return

    def _judge(self, control: ModelControl, *, gently: bool) -> bool:
        problem = next(filter(None, map(self._problem, _names(control.raw))), '')
        control.complain('' if gently and not control.visited else problem, gently=False)
        return not problem

    def _problem(self, name: str) -> str:
        if name in self._offer:
            return ''
        offered = {found.endpoint: found for found in self._offer.offered()}
        endpoint, _, model = name.partition('/')
        if found := offered.get(endpoint):
            return f'{endpoint} cannot be used: {found.problem}.' if model else f'Name a model: {endpoint}/…'
        usable = [f'{known.endpoint}/…' for known in offered.values() if not known.problem]
        return f'There is no model “{name}”. There are: {", ".join([PLAYED, *usable])}'

    def _changed(self) -> None:
        self.check_gently()
        self._tell()
        self._on_change()

    def told(self) -> tuple[bool, str]:
        """Whether some of the run is live, and what is simulated and what live, in words."""
        chosen = self.chosen
        chains = {role: _names(chosen.get(role) or chosen.get('') or PLAYED) for role in self._roles or ['']}
        live = {role: names for role, names in chains.items() if any(map(self._is_live, names))}
        if not live:
            return False, SIMULATED
        played = [role.replace('_', ' ') for role in chains if role not in live]
        by_model: dict[str, list[str]] = {}
        for role, names in live.items():
            by_model.setdefault(', else '.join(names), []).append(role.replace('_', ' '))
        said = '; '.join(
            f'{", ".join(filter(None, roles)) or "all"} by {names}' for names, roles in by_model.items()
        )
        words = f'Live: {said}. {self._cost({name for names in live.values() for name in names})}'
        return True, f'{words} Simulated: {", ".join(played)}.' if played else words

    def _cost(self, names: set[str]) -> str:
        offered = {found.endpoint: found.here for found in self._offer.offered()}
        endpoints = {name.partition('/')[0] for name in names if self._is_live(name)}
        paid = sorted(name for name in endpoints if not offered.get(name, name in HOMES))
        return f'Calls to {", ".join(paid)} cost money.' if paid else 'Calls stay on this machine.'

    def _is_live(self, name: str) -> bool:
        return name in self._offer and not self._offer[name].simulated

    def _tell(self) -> None:
        chosen = self.chosen
        names = list(dict.fromkeys(_names(', '.join(chosen.values())))) or [PLAYED]
        more = f' and {count(len(names) - 1, "other")}' if len(names) > 1 else ''
        simulated = ', simulated' if names == [PLAYED] else ''
        self._brief.show(f'{names[0]}{more}{simulated}')

    async def look(self) -> None:
        """Ask the endpoints for their models, where that has not been done."""
        unknown = [
            found.endpoint for found in self._offer.offered() if not found.models and not found.problem
        ]
        if unknown:
            self._busy = f'Asking {", ".join(unknown)} for models …'
            self._show()
        await self._offer.look()
        self._busy = ''
        if not self._place.is_deleted:
            self._show()

    def _show(self) -> None:
        for control in self._controls.values():
            control.box.offer(self._groups(), self._busy)

    def _groups(self) -> list[dict[str, Any]]:
        loaded = {name: self._offer[name] for name in self._offer if '/' not in name}
        groups = [
            {
                'label': 'Simulated' if simulated else 'Yours',
                'note': 'free, no key' if simulated else '',
                'options': names,
            }
            for simulated in (True, False)
            if (names := [name for name, model in loaded.items() if model.simulated is simulated])
        ]
        return [*groups, *map(self._group, self._offer.offered())]

    def _group(self, offered: Offered) -> dict[str, Any]:
        note = 'on this machine' if offered.here else 'calls cost money'
        if not offered.models and not self._busy:
            note = 'lists no models just now; any can be typed'
        return {
            'label': offered.endpoint,
            'note': f'cannot be used: {offered.problem}' if offered.problem else note,
            'options': [f'{offered.endpoint}/{model}' for model in offered.models],
        }


def _names(raw: Any) -> list[str]:
    return [name for part in str(raw).split(',') if (name := part.strip())]

"""The model of each role, and which roles will be live."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from nicegui.elements.mixins.value_element import ValueElement
from typing_extensions import override

from engine.models import LOCAL_ENDPOINTS, SCRIPTED, EndpointInfo, ModelRegistry
from engine.records import Usage
from ui.formatting.steps import role_title
from ui.formatting.values import as_sentence, count
from ui.web.components.elements import Combobox
from ui.web.components.forms.control import Control
from ui.web.components.forms.fields import Field
from ui.web.components.widgets import Box, set_attributes
from ui.web.pages.shared.launching.role_fields import RoleFields
from ui.web.permission import is_permitted

ALL = Field(
    name='',
    kind='model',
    title='Model for all roles',
    help='endpoint/model; list several, separated by commas, to fall back in order',
)
FALLBACK = Field(name='fallback', kind='model', title='Fallback', help='Used if a model fails')
PLACEHOLDERS = {'': SCRIPTED, 'fallback': 'none'}
SIMULATED = 'Simulated: the scripted model answers. No key, no network, free.'


ANY_MODEL = 'No match. You can enter any endpoint/model.'


class ModelControl(Control):
    """A field for one model, or for several in fallback order."""

    def _draw(self) -> ValueElement[Any]:
        self.box = Combobox('', label='Available models', empty_text=ANY_MODEL)
        return self.box


class Models(RoleFields[ModelControl]):
    """The models by role, and the fallback."""

    def __init__(self, registry: ModelRegistry, *, on_change: Callable[[], None]) -> None:
        """Draw it collapsed; `load` fills the lists."""
        self._registry, self._on_change = registry, on_change
        self._busy = ''
        super().__init__('Models', 'models-fold')

    def _draw_fixed(self) -> None:
        with Box('pair'):
            self._all, self._fallback = self._draw_control(ALL), self._draw_control(FALLBACK)

    def _draw_role(self, role: str) -> ModelControl:
        return self._draw_control(Field(name=role, kind='model', title=role_title(role)))

    def _draw_control(self, field: Field) -> ModelControl:
        control = ModelControl(field, on_change=self._notify, on_blur=self.check_leniently)
        control.box.set_groups(model_groups(self._registry, busy=bool(self._busy)), self._busy)
        set_attributes(control.box, placeholder=PLACEHOLDERS.get(field.name, 'same as all roles'))
        return control

    @property
    def _controls(self) -> dict[str, ModelControl]:
        return {'': self._all, 'fallback': self._fallback} | {
            f'role:{role}': control for role, control in self._roles.items()
        }

    @override
    def fill(self, raw: Mapping[str, str]) -> None:
        super().fill(raw)
        self.check_leniently()

    def fill_from_run(self, models: Mapping[str, str]) -> None:
        """Show the models of an earlier run."""
        first, _, fallback = models.get('', '').partition(',')
        fallback = fallback.strip()
        raw = {'': '' if first.strip() == SCRIPTED else first.strip(), 'fallback': fallback}
        for role, named in models.items():
            if role:
                raw[f'role:{role}'] = named.removesuffix(f', {fallback}') if fallback else named
        self.fill(raw)

    @property
    def has_roles(self) -> bool:
        """Whether the chart has roles that models play."""
        return bool(self._roles)

    def choose(self, model: str) -> None:
        """Choose a model for all roles, as if it had been typed."""
        self._all.set_content(model, by_user=True)

    def focus(self) -> None:
        """Focus the field for all roles, opening the section."""
        self._all.focus()

    @property
    def chosen(self) -> dict[str, str]:
        """Models by role; '' is the default."""
        fallback = _names(self._fallback.raw)
        default = _names(self._all.raw)
        chosen = {'': default} if default or fallback else {}
        chosen |= {role: names for role, control in self._roles.items() if (names := _names(control.raw))}
        for role, names in chosen.items():
            chosen[role] = [*(names or [SCRIPTED]), *(fallback if len(names) < 2 else [])]
        return {role: ', '.join(dict.fromkeys(names)) for role, names in chosen.items()}

    def check(self) -> bool:
        """Return whether all models exist; problems are shown at their fields."""
        return all([self._check_control(control, lenient=False) for control in self._controls.values()])

    def check_leniently(self) -> None:
        """Show problems, but not while a name is being typed."""
        for control in self._controls.values():
            self._check_control(control, lenient=True)

    def _check_control(self, control: ModelControl, *, lenient: bool) -> bool:
        problem = next(filter(None, map(partial(model_problem, self._registry), _names(control.raw))), '')
        control.show_problem('' if lenient and not control.visited else problem, lenient=False)
        return not problem

    def _notify(self) -> None:
        self.check_leniently()
        self._summarize()
        self._on_change()

    def describe(self) -> tuple[bool, str]:
        """Return whether any role is live, and a sentence on which roles are live and which are simulated."""
        chosen = self.chosen
        chains = {
            role: _names(chosen.get(role) or chosen.get('') or SCRIPTED) for role in self._roles or ['']
        }
        live = {role: names for role, names in chains.items() if any(map(self._is_live, names))}
        if not live:
            return False, SIMULATED
        played = [role.replace('_', ' ') for role in chains if role not in live]
        by_model: dict[str, list[str]] = {}
        for role, names in live.items():
            by_model.setdefault(', else '.join(names), []).append(role.replace('_', ' '))
        text = '; '.join(
            f'{", ".join(filter(None, roles)) or "all"} by {names}' for names, roles in by_model.items()
        )
        cost = describe_cost(self._registry, {name for names in live.values() for name in names})
        reach = describe_reach(self._registry, (name for names in live.values() for name in names))
        words = ' '.join(filter(None, [f'Live: {text}. {cost}', reach]))
        return True, f'{words} Simulated: {", ".join(played)}.' if played else words

    def price(self, usage: Usage) -> float | None:
        """Return the cost of this usage with the most expensive chosen model; None if a price is unknown."""
        names = [name for named in self.chosen.values() for name in _names(named)[:1] if self._is_live(name)]
        prices = [getattr(self._registry[name], 'price', lambda _: None)(usage) for name in names]
        known_prices = [price for price in prices if price is not None]
        return max(known_prices) if known_prices and len(known_prices) == len(names) else None

    def _is_live(self, name: str) -> bool:
        return is_live(self._registry, name)

    def _summarize(self) -> None:
        chosen = self.chosen
        names = list(dict.fromkeys(_names(', '.join(chosen.values())))) or [SCRIPTED]
        more = f' and {count(len(names) - 1, "other")}' if len(names) > 1 else ''
        simulated = ', simulated' if names == [SCRIPTED] else ''
        self._brief.show(f'{names[0]}{more}{simulated}')

    async def load(self) -> None:
        """Load the endpoints' models, unless they are known."""
        unknown = [
            info.endpoint for info in self._registry.endpoint_infos() if not info.models and not info.problem
        ]
        if unknown:
            self._busy = f'Loading models from {", ".join(unknown)}…'
            self.show_groups()
        if is_permitted('endpoints.discover'):
            await self._registry.refresh()
        self._busy = ''
        if not self._place.is_deleted:
            self.show_groups()

    def show_groups(self) -> None:
        """Offer the models that are available now."""
        for control in self._controls.values():
            control.box.set_groups(model_groups(self._registry, busy=bool(self._busy)), self._busy)


def model_groups(registry: ModelRegistry, *, busy: bool) -> list[dict[str, Any]]:
    """Return the available models by endpoint; `busy` while their lists are loading."""
    loaded = {name: registry[name] for name in registry if '/' not in name}
    groups = [
        {
            'label': 'Simulated' if simulated else 'Yours',
            'note': 'free, no key' if simulated else '',
            'options': names,
        }
        for simulated in (True, False)
        if (names := [name for name, model in loaded.items() if model.simulated is simulated])
    ]
    usable = [name for name in registry.agent_names if not model_problem(registry, name)]
    agents = [{'label': 'Coding agents', 'note': 'installed here', 'options': usable}] if usable else []
    return [*groups, *agents, *(_group(offered, busy=busy) for offered in registry.endpoint_infos())]


def _group(offered: EndpointInfo, *, busy: bool) -> dict[str, Any]:
    note = 'on this machine' if offered.is_local else 'calls cost money'
    if not offered.models and not busy:
        note = 'lists no models; type any name'
    return {
        'label': offered.endpoint,
        'note': f'unavailable: {offered.problem}' if offered.problem else note,
        'options': [f'{offered.endpoint}/{model}' for model in offered.models],
    }


def model_problem(registry: ModelRegistry, name: str) -> str:
    """Return why a model is not available, or ''."""
    if name in registry.agent_names:
        problem = str(getattr(registry[name], 'problem', ''))
        return as_sentence(problem)
    if name in registry:
        return ''
    offered = {info.endpoint: info for info in registry.endpoint_infos()}
    endpoint, _, model = name.partition('/')
    if info := offered.get(endpoint):
        return f'{endpoint} cannot be used: {info.problem}.' if model else f'Add the model: {endpoint}/…'
    usable = [f'{info.endpoint}/…' for info in offered.values() if not info.problem]
    return f'Unknown model “{name}”. Available: {", ".join([SCRIPTED, *usable])}'


def describe_cost(registry: ModelRegistry, names: Iterable[str]) -> str:
    """Return a sentence on whether calls to these models cost money."""
    offered = {info.endpoint: info.is_local for info in registry.endpoint_infos()}
    endpoints = {name.partition('/')[0] for name in names if is_live(registry, name)}
    paid = sorted(name for name in endpoints if not offered.get(name, name in LOCAL_ENDPOINTS))
    return f'Calls to {", ".join(paid)} cost money.' if paid else 'Calls stay on this machine.'


def describe_reach(registry: ModelRegistry, names: Iterable[str]) -> str:
    """Return sentences on what the external agents among these may reach; '' if there are none."""
    agents = [name for name in dict.fromkeys(names) if name in registry.agent_names]
    return ' '.join(f'{name}: {getattr(registry[name], "reach", "")}' for name in agents)


def is_live(registry: ModelRegistry, name: str) -> bool:
    """Return whether a model exists and is not simulated."""
    return name in registry and not registry[name].simulated


def _names(raw: Any) -> list[str]:
    return [name for part in str(raw).split(',') if (name := part.strip())]

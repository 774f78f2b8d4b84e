"""AgentFields: what agents are told, which tools they have, and what is answered in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, Final

from nicegui.elements.mixins.value_element import ValueElement
from typing_extensions import override

from engine import Catalog
from engine.agents import AgentInfo
from engine.records import Launch, StatePath
from engine.tools import Tool
from ui.formatting.steps import role_title
from ui.web.components.elements import Combobox
from ui.web.components.forms.control import Control
from ui.web.components.forms.fields import Field, new_value
from ui.web.components.forms.nested import MAX_NESTED, NestedFields, count_values
from ui.web.components.widgets import Box
from ui.web.pages.shared.launching.override_form import MakeControl, OverrideForm

ANY_TOOL = 'No match. You can enter mcp:SERVER or mcp:SERVER/TOOL.'
HEADS: Final = {
    'instructions': (
        'Instructions',
        'What each agent is told to do. A change replaces what the pattern says.',
    ),
    'tools': ('Tools', 'Choose from the list, or enter those of an MCP server.'),
    'stubs': (
        'Stubs',
        'Answers in place of a model’s: one for each visit of the agent, the last one repeated.',
    ),
}
"""The fields of a launch that are given by role, with their titles and what they do."""
AgentValues = dict[str, Any]
"""Fields of a launch, and in each what is given by role."""


class ToolsControl(Control):
    """A field for several tools, chosen from a list or typed."""

    def __init__(self, field: Field, *, tools: Mapping[str, Tool], **handlers: Callable[[], None]) -> None:
        """Offer these tools, by category."""
        self._tools = tools
        super().__init__(field, on_change=handlers['on_change'], on_blur=handlers['on_blur'])

    def _draw(self) -> ValueElement[Any]:
        box = Combobox(self.field.format(self.field.default), label='Tools', empty_text=ANY_TOOL)
        ordered = sorted(self._tools.values(), key=lambda tool: (tool.category, tool.name))
        groups = groupby(ordered, key=lambda tool: tool.category)
        box.set_groups(
            [
                {'label': label.capitalize(), 'note': '', 'options': [tool.name for tool in tools]}
                for label, tools in groups
            ]
        )
        return box


class StubControl(Control):
    """A field for the answers of an agent: texts, or a field for each value of a structured answer."""

    def _draw(self) -> ValueElement[Any]:
        if self.field.kind != 'nested':
            return super()._draw()
        return NestedFields(
            self.field.title, self.field.format(self.field.default), self.field.new, long=True
        )


def instruction_fields(agents: Iterable[AgentInfo]) -> list[Field]:
    """Return a field for the instructions of each role, with the pattern's as its default."""
    return [
        Field(name=role, kind='multiline', title=role_title(role), default=agent.instructions)
        for role, agent in _by_role(agents).items()
    ]


def tool_fields(agents: Iterable[AgentInfo]) -> list[Field]:
    """Return a field for the tools of each role, with the pattern's as its default."""
    return [
        Field(name=role, kind='list', inline=True, title=role_title(role), default=list(agent.tools))
        for role, agent in _by_role(agents).items()
    ]


class _StubsField(Field):
    """A field for a list of answers."""

    @override
    def parse(self, raw: Any) -> Any:
        value = Field.parse(self, raw)
        if not isinstance(value, list):
            raise ValueError('Enter a list of answers, one for each visit.')
        return value


def stub_fields(agents: Iterable[AgentInfo]) -> list[Field]:
    """Return a field for the answers of each role, by default none."""
    return [
        _StubsField(
            name=role,
            kind='nested',
            title=role_title(role),
            default=[],
            new=new_value(agent.answer, agent.answer.get('$defs', {})) if agent.answer else '',
        )
        for role, agent in _by_role(agents).items()
    ]


FIELDS: Final[Mapping[str, Callable[[Iterable[AgentInfo]], list[Field]]]] = {
    'instructions': instruction_fields,
    'tools': tool_fields,
    'stubs': stub_fields,
}


class AgentFields:
    """Collapsible fields by role, each drawn when it is opened; `set_agents` says for which agents."""

    def __init__(self, catalog: Catalog, *, on_change: Callable[[], None], parts: Sequence[str]) -> None:
        """Draw nothing yet; `parts` are those of `HEADS` that are offered."""
        self._catalog, self._on_change, self._parts = catalog, on_change, parts
        self._agents: tuple[AgentInfo, ...] = ()
        self._given: Mapping[str, Mapping[str, Any]] = {}
        """What the launch that is shown gives by role, also for roles that the chart does not have."""
        self._forms: dict[str, OverrideForm] = {}
        self._place = Box('agent-folds')

    @property
    def raw(self) -> dict[str, dict[str, Any]]:
        """The content of the changed fields, valid or not."""
        return {part: form.raw for part, form in self._forms.items()}

    def fill(self, raw: Mapping[str, Mapping[str, Any]]) -> None:
        """Restore the content of `raw`; fields it does not name get the pattern's."""
        for part, form in self._forms.items():
            form.fill(raw.get(part, {}))

    def set_agents(self, agents: Sequence[AgentInfo]) -> None:
        """Draw fields for these agents; what is entered for those that remain stays."""
        if tuple(agents) != self._agents:
            self._agents = tuple(agents)
            self._draw(self.raw)

    def set_launch(self, launch: Launch) -> None:
        """Show what a launch gives by role."""
        self._given = {part: dict(getattr(launch, part)) for part in self._parts}
        self._draw({})
        for part, form in self._forms.items():
            form.set_values({role: _listed(value) for role, value in self._given[part].items()})

    def read(self) -> AgentValues | None:
        """Return the changed values, or None if a field is invalid, which is then shown."""
        return _values({part: form.read() for part, form in self._forms.items()})

    def parse(self) -> AgentValues | None:
        """Return the changed values, or None if a field is invalid, without showing problems."""
        return _values({part: form.parse() for part, form in self._forms.items()})

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems by part and role: `instructions.writer`, `stubs.writer.0`."""
        by_part: dict[str, dict[str, str]] = {part: {} for part in self._forms}
        for name, problem in problems.items():
            part, _, inside = name.partition('.')
            role, _, place = inside.partition('.')
            by_part[part][role] = f'{place}: {problem}' if place else problem
        for part, form in self._forms.items():
            form.show_problems(by_part[part])

    def focus_problem(self) -> None:
        """Focus the first field with a problem."""
        any(form.focus_problem() for form in self._forms.values())

    def _draw(self, raw: Mapping[str, Mapping[str, Any]]) -> None:
        controls: dict[str, MakeControl] = {
            'tools': partial(ToolsControl, tools=self._catalog.tools),
            'stubs': StubControl,
        }
        self._place.clear()
        with self._place:
            self._forms = {
                part: OverrideForm(
                    HEADS[part],
                    self._fields(part),
                    on_change=self._on_change,
                    make_control=controls.get(part, Control),
                )
                for part in self._parts
            }
        self.fill(raw)

    def _fields(self, part: str) -> list[Field]:
        """Return the fields of a part; answers of too many values are edited as one text."""
        given = self._given.get(part, {})
        fields = FIELDS[part](self._agents)
        known = {field.name for field in fields}
        roles = [
            AgentInfo(path=StatePath(''), role=role, instructions='', tools=())
            for role in given
            if role not in known
        ]
        fields += FIELDS[part](roles)
        if part != 'stubs':
            return fields
        return [
            replace(field, kind='json', help='As JSON: a list of answers, one for each visit')
            if count_values(_listed(given.get(field.name, []))) > MAX_NESTED
            else field
            for field in fields
        ]


def _values(read: Mapping[str, tuple[Mapping[str, Any], Mapping[str, str]]]) -> AgentValues | None:
    """Return what the forms hold, as in a launch; None if one has a problem."""
    if any(problems for _, problems in read.values()):
        return None
    return {
        part: {role: value if part == 'instructions' else tuple(value) for role, value in by_role.items()}
        for part, (by_role, _) in read.items()
    }


def _by_role(agents: Iterable[AgentInfo]) -> dict[str, AgentInfo]:
    by_role: dict[str, AgentInfo] = {}
    for agent in agents:
        by_role.setdefault(agent.role, agent)
    return by_role


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value

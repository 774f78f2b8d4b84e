"""One variant of a fork: changes to memory, prompts, models, tools and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from engine import Catalog, InvalidInput, Pattern
from engine.agents import AgentInfo
from engine.history import ForkOverrides
from engine.records import Change, RunInfo, View, split_pointer
from ui.formatting.steps import role_title
from ui.web.components.forms.control import Control
from ui.web.components.forms.fields import Field, fields
from ui.web.components.widgets import Box, Text
from ui.web.pages.fork.replay_choices import ReplayChoices
from ui.web.pages.shared.launching.agent_fields import ToolsControl, instruction_fields, tool_fields
from ui.web.pages.shared.launching.efforts import EffortControl
from ui.web.pages.shared.launching.models import Models
from ui.web.pages.shared.launching.override_form import MakeControl, OverrideForm, value_fields

UNPREFIXED = ('memory', 'parameters')
"""Forms whose problems the engine reports without the form's name."""
HEADS = {
    'parameters': ('Parameters', 'Some define the chart; changing those requires running all steps again.'),
    'memory': ('Memory', 'The workflow’s memory at this step. Your changes apply before the fork continues.'),
    'prompts': ('Last message to each agent', 'Replaces the last message that the agent received.'),
    'instructions': ('Instructions by role', 'Also applies to agents that start later.'),
    'tools': ('Tools by role', 'Choose from the list, or enter those of an MCP server.'),
    'effort': (
        'Reasoning effort by role',
        'A level or a number of thinking tokens; empty leaves it to the model.',
    ),
}
"""The title of each form, and what its changes do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The run and step that a fork starts from."""

    info: RunInfo
    view: View
    """The run at the step of the fork."""
    pattern: type[Pattern]
    roles: Sequence[AgentInfo]
    """The agents of the run's pattern."""
    agents: Mapping[str, str]
    """Names of the chart's agents, by path."""

    def fields(self) -> dict[str, list[Field]]:
        """Return the fields that can be changed, by form, each with the current value as its default."""
        own = self.info.parameters
        tasks = {path: task for path, agent in self.view.agents.items() if (task := _last_task(agent))}
        roles = {agent.role: agent for agent in self.roles}
        names = ('instructions', 'tools', 'effort')
        changed, tools, effort = (dict(self.info.options.get(name, {})) for name in names)
        return {
            'parameters': [
                replace(field, default=own.get(field.name, field.default), group='', examples=())
                for field in fields(self.pattern.Parameters)
            ],
            'memory': value_fields(self.view.memory, self.pattern.Memory),
            'prompts': [
                Field(name=path, kind='multiline', title=self.agents.get(path, path), default=text)
                for path, text in tasks.items()
            ],
            'instructions': [
                replace(field, default=changed.get(field.name, field.default))
                for field in instruction_fields(self.roles)
            ],
            'tools': [
                replace(field, default=list(tools.get(field.name, field.default)))
                for field in tool_fields(self.roles)
            ],
            'effort': [
                Field(name=role, kind='model', title=title, default=effort.get(role, ''))
                for role, title in (('', 'All roles'), *((role, role_title(role)) for role in roles))
            ],
        }


class Variant:
    """The form of one variant; it retains its input, valid or not."""

    def __init__(self, name: str, origin: Origin, catalog: Catalog, *, on_change: Callable[[], None]) -> None:
        """Draw it without changes."""
        self.name = name
        self._origin = origin
        with Box('form fork-variant') as self.root:
            self._replay_choices = ReplayChoices(origin.view.seq, origin.agents, on_change=on_change)
            Text('h2', 'Changes')
            self._models = Models(catalog.registry, on_change=on_change)
            self._models.set_roles([agent.role for agent in origin.roles])
            self._models.fill_from_run(origin.info.models)
            fields_by_form = origin.fields()
            models: dict[str, type[BaseModel]] = {
                'parameters': origin.pattern.Parameters,
                'memory': origin.pattern.Memory,
            }
            controls: dict[str, MakeControl] = {
                'tools': partial(ToolsControl, tools=catalog.tools),
                'effort': EffortControl,
            }
            self._forms = {
                name: OverrideForm(
                    HEADS[name],
                    fields_by_form[name],
                    on_change=on_change,
                    model=models.get(name),
                    make_control=controls.get(name, Control),
                )
                for name in HEADS
            }

    @property
    def raw(self) -> dict[str, Any]:
        """Its content, to copy it to another variant."""
        sheets = {name: sheet.raw for name, sheet in self._forms.items()}
        return {'sheets': sheets, 'plays': self._replay_choices.raw, 'models': self._models.raw}

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Copy the content of another variant."""
        for name, sheet in self._forms.items():
            sheet.fill(raw['sheets'].get(name, {}))
        self._replay_choices.fill(raw['plays'])
        self._models.fill(raw['models'])

    async def load_models(self) -> None:
        """Ask the endpoints for their models."""
        await self._models.load()

    def read(self) -> ForkOverrides | None:
        """Return the overrides, or None if a field is invalid; problems are shown at their fields."""
        read = {name: sheet.read() for name, sheet in self._forms.items()}
        if any(wrong for _, wrong in read.values()) or not self._models.check():
            return None
        values = {name: value for name, (value, _) in read.items()}
        models = {
            role: named
            for role, named in self._models.chosen.items()
            if named != self._origin.info.models.get(role, '')
        }
        return ForkOverrides(
            changes=[
                Change(op='add', path=f'/memory/{n}', value=value) for n, value in values['memory'].items()
            ],
            instructions=values['instructions'],
            prompts=values['prompts'],
            models=models,
            tools={role: tuple(names) for role, names in values['tools'].items()},
            effort={role: str(effort).strip() for role, effort in values['effort'].items()},
            parameters=values['parameters'],
            **self._replay_choices.raw,
        )

    def show_problems(self, error: InvalidInput) -> str:
        """Show the engine's problems at their fields; return those without a field as text."""
        by_sheet: dict[str, dict[str, str]] = {name: {} for name in HEADS}
        rest = []
        for where, text in error.problems.items():
            problem = text
            sheet, name = _locate(where)
            if sheet not in (*HEADS, 'models'):  # the bare name of a memory field or parameter
                name, _, inside = where.partition('.')
                sheet = next((own for own in UNPREFIXED if name in self._forms[own].raw), '')
                problem = f'{inside}: {text}' if inside else text
            if sheet in by_sheet and any(field.name == name for field in self._origin.fields()[sheet]):
                by_sheet[sheet][name] = problem
            elif sheet == 'models':
                self._models.show_problems({name: problem})
            else:
                rest.append(f'{where}: {problem}')
        for name, problems in by_sheet.items():
            if problems:
                self._forms[name].show_problems(problems)
        return '; '.join(rest)

    def focus_problem(self) -> None:
        """Move the focus to the first field with a problem."""
        if not any(sheet.focus_problem() for sheet in self._forms.values()):
            self._models.focus_problem()


def _locate(where: str) -> tuple[str, str]:
    """Return the form and the field of a problem: `models.writer`, `/memory/draft`, `memory.draft.0`."""
    parts = split_pointer(where) if where.startswith('/') else where.split('.', 1)
    name = parts[1] if len(parts) > 1 else ''
    return parts[0], name if parts[0] in ('prompts', 'models', 'instructions', 'tools') else name.split('.')[
        0
    ]


def _last_task(agent: Mapping[str, Any]) -> str:
    tasks = [message for message in agent.get('messages', ()) if message.get('role') == 'user']
    parts = tasks[-1].get('parts', ()) if tasks else ()
    return ''.join(part.get('text', '') for part in parts if part.get('kind') == 'text')

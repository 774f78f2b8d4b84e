"""One variant of a fork: what of memory, prompts, models, tools and parameters is otherwise in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nicegui import ui

from engine import AgentInfo, Change, InvalidInput, Offer, Pattern, RunInfo, Variation, View, parts_of
from ui.forks.plays import Plays
from ui.forks.sheet import Sheet, document
from ui.forms.fields import Field, fields
from ui.launch.models import Models
from ui.parts import Text
from ui.presenters.reading import speaker

SHEETS = ('parameters', 'memory', 'prompts', 'instructions', 'tools')
BARE = ('memory', 'parameters')
"""Of these sheets the engine names a field without the sheet."""
TITLES = {
    'memory': 'Memory',
    'prompts': 'What agents were told last',
    'instructions': 'Instructions of roles',
    'tools': 'Tools of roles',
    'parameters': 'Parameters',
}
HINTS = {
    'memory': 'What the workflow remembers at this step. What you change is changed before the fork goes on.',
    'prompts': 'Stands in the place of the last message that the agent got.',
    'instructions': 'Also for agents that begin later.',
    'tools': 'Their names, with commas between.',
    'parameters': 'Some shape the chart: those can be changed only if all steps are done again.',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a fork begins from."""

    info: RunInfo
    view: View
    """The run at the step of the fork."""
    made: type[Pattern]
    staff: Sequence[AgentInfo]
    """The agents of its pattern."""
    agents: Mapping[str, str]
    """The names of the agents of its chart, by their paths."""

    def fields(self) -> dict[str, list[Field]]:
        """What can be changed, by sheet; each field holds what there is now."""
        own = self.info.parameters
        told = {path: said for path, agent in self.view.agents.items() if (said := _told_last(agent))}
        roles = {agent.role: agent for agent in self.staff}
        changed, given = (dict(self.info.options.get(name, {})) for name in ('instructions', 'tools'))
        return {
            'parameters': [
                replace(field, default=own.get(field.name, field.default), group='', examples=())
                for field in fields(self.made.Parameters)
            ],
            'memory': document(self.view.memory),
            'prompts': [
                Field(name=path, kind='multiline', title=self.agents.get(path, path), default=text)
                for path, text in told.items()
            ],
            'instructions': [
                Field(
                    name=role,
                    kind='multiline',
                    title=speaker(role),
                    default=changed.get(role, agent.instructions),
                )
                for role, agent in roles.items()
            ],
            'tools': [
                Field(
                    name=role,
                    kind='list',
                    inline=True,
                    title=speaker(role),
                    default=list(given.get(role, agent.tools)),
                )
                for role, agent in roles.items()
            ],
        }


class Variant:
    """The form of one variant; it holds what is typed, valid or not."""

    def __init__(self, name: str, origin: Origin, offer: Offer, *, on_change: Callable[[], None]) -> None:
        """Draw it, with everything as it was."""
        self.name = name
        self._origin = origin
        with ui.element('div').classes('form fork-variant') as self.root:
            self._plays = Plays(origin.view.seq, origin.agents, on_change=on_change)
            Text('h2', 'What is otherwise')
            self._models = Models(offer, on_change=on_change)
            self._models.cast([agent.role for agent in origin.staff])
            self._models.again(origin.info.models)
            found = origin.fields()
            self._sheets = {
                name: Sheet(TITLES[name], found[name], hint=HINTS[name], on_change=on_change)
                for name in SHEETS
            }

    @property
    def raw(self) -> dict[str, Any]:
        """What it holds, for another variant that begins like it."""
        sheets = {name: sheet.raw for name, sheet in self._sheets.items()}
        return {'sheets': sheets, 'plays': self._plays.raw, 'models': self._models.raw}

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Show what another variant held."""
        for name, sheet in self._sheets.items():
            sheet.fill(raw['sheets'].get(name, {}))
        self._plays.fill(raw['plays'])
        self._models.fill(raw['models'])

    async def look(self) -> None:
        """Ask the endpoints for their models."""
        await self._models.look()

    def read(self) -> Variation | None:
        """What it says; None where something is wrong, which is shown at its place."""
        read = {name: sheet.read() for name, sheet in self._sheets.items()}
        if any(wrong for _, wrong in read.values()) or not self._models.check():
            return None
        values = {name: value for name, (value, _) in read.items()}
        models = {
            role: named
            for role, named in self._models.chosen.items()
            if named != self._origin.info.models.get(role, '')
        }
        return Variation(
            changes=[
                Change(op='add', path=f'/memory/{n}', value=value) for n, value in values['memory'].items()
            ],
            instructions=values['instructions'],
            prompts=values['prompts'],
            models=models,
            tools={role: tuple(names) for role, names in values['tools'].items()},
            parameters=values['parameters'],
            **self._plays.raw,
        )

    def refuse(self, error: InvalidInput) -> str:
        """Show what the engine says at its place; what has none there is given back, in words."""
        by_sheet: dict[str, dict[str, str]] = {name: {} for name in SHEETS}
        rest = []
        for where, said in error.problems.items():
            problem = said
            sheet, name = _place(where)
            if sheet not in (*TITLES, 'models'):  # a field of memory or a parameter, by its bare name
                name, _, inside = where.partition('.')
                sheet = next((own for own in BARE if name in self._sheets[own].raw), '')
                problem = f'{inside}: {said}' if inside else said
            if sheet in by_sheet and any(field.name == name for field in self._origin.fields()[sheet]):
                by_sheet[sheet][name] = problem
            elif sheet == 'models':
                self._models.refuse({name: problem})
            else:
                rest.append(f'{where}: {problem}')
        for name, problems in by_sheet.items():
            if problems:
                self._sheets[name].complain(problems)
        return '; '.join(rest)

    def go_to_problem(self) -> None:
        """Move to the first thing that is wrong."""
        if not any(sheet.focus() for sheet in self._sheets.values()):
            self._models.go_to_problem()


def _place(where: str) -> tuple[str, str]:
    """The sheet and the field of a problem: `models.writer`, `/memory/draft`, `memory.draft.0`."""
    parts = parts_of(where) if where.startswith('/') else where.split('.', 1)
    name = parts[1] if len(parts) > 1 else ''
    return parts[0], name if parts[0] in ('prompts', 'models', 'instructions', 'tools') else name.split('.')[
        0
    ]


def _told_last(agent: Mapping[str, Any]) -> str:
    said = [message for message in agent.get('messages', ()) if message.get('role') == 'user']
    parts = said[-1].get('parts', ()) if said else ()
    return ''.join(part.get('text', '') for part in parts if part.get('kind') == 'text')

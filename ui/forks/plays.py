"""Which steps of a fork are recorded, live or simulated: before it, after it, and exceptions by agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from ui.parts import Choice, Text, attach, label
from ui.theme import button

BEFORE = {
    'recorded': 'Keep them as recorded',
    'live': 'Do them again',
    'simulated': 'Do them again, simulated',
}
AFTER = {
    'live': 'Really done: models and tools are called',
    'recorded': 'Played from the record, as long as it lasts',
    'simulated': 'Simulated: the scripted model answers',
}
BEYOND = {
    'stop': 'The fork stops there, and waits for you',
    'live': 'It goes on, really done',
    'simulated': 'It goes on, simulated',
}
SHORT = {'live': 'Really done', 'recorded': 'From the record', 'simulated': 'Simulated'}
DEFAULT = {'before': 'recorded', 'after': 'live', 'beyond': 'stop'}


class Plays:
    """The choices of one variant.

    Args:
        at: the step of the fork.
        agents: names of agents by their path; for each there may be an exception.
        on_change: called after every change.
    """

    def __init__(self, at: int, agents: Mapping[str, str], *, on_change: Callable[[], None]) -> None:
        self._agents, self._on_change = dict(agents), on_change
        self._own: dict[str, str] = {}
        with ui.element('div').classes('form'):
            self._before = self._choice(f'Steps 1 to {at}', BEFORE, DEFAULT['before'])
            self._after = self._choice(f'Steps after {at}', AFTER, DEFAULT['after'])
            with ui.element('div').classes('ghost') as self._lasting:
                self._beyond = self._choice('Where nothing is recorded', BEYOND, DEFAULT['beyond'])
            if agents:
                with ui.element('details').classes('fold'):
                    with ui.element('summary'):
                        Text('span', 'Exceptions for single agents')
                        self._brief = Text('span', '', 'muted brief')
                    self._rows = ui.element('div').classes('fork-rows')
                    with ui.element('div').classes('fork-add'):
                        self._who = Choice({'': 'An agent …', **self._agents}, value='')
                        attach(self._who, aria_label='Agent')
                        self._how = Choice(SHORT, value='recorded')
                        attach(self._how, aria_label='Its steps after the fork are')
                        button('Add', icon='add', kind='small').on('click', self._add)
        self._tell()

    def _choice(self, title: str, options: Mapping[str, str], value: str) -> Choice:
        with ui.element('div').classes('field'):
            head = ui.element('div').classes('field-head')
            choice = Choice(options, value=value, on_change=self._changed)
            with head:
                label(title, choice)
        return choice

    @property
    def raw(self) -> dict[str, Any]:
        """What is chosen, as `Variation` takes it."""
        return {
            'before': self._before.value,
            'after': self._after.value,
            'beyond': self._beyond.value,
            'plays': dict(self._own),
        }

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Show what another variant chose."""
        for name, choice in (('before', self._before), ('after', self._after), ('beyond', self._beyond)):
            choice.set_value(str(raw.get(name, DEFAULT[name])))
        self._own = dict(raw.get('plays', {}))
        self._tell()

    def _add(self) -> None:
        if self._who.value:
            self._own[self._who.value] = self._how.value
            self._who.set_value('')
            self._changed()

    def _drop(self, path: str) -> None:
        self._own.pop(path, None)
        self._changed()

    def _changed(self) -> None:
        self._tell()
        self._on_change()

    def _tell(self) -> None:
        self._lasting.set_visibility('recorded' in (self._after.value, *self._own.values()))
        if not self._agents:
            return
        self._brief.show(f'{len(self._own)}' if self._own else '')
        self._rows.clear()
        with self._rows:
            for path, play in self._own.items():
                name = self._agents.get(path, path)
                with ui.element('div').classes('fork-row'):
                    Text('span', name)
                    Text('span', SHORT[play], 'chip')
                    ui.element('span').classes('grow')
                    drop = button('', icon='close', kind='quiet small', label=f'No exception for {name}')
                    drop.on('click', lambda path=path: self._drop(path))

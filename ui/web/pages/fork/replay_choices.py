"""Which steps of a fork are replayed, live or simulated, with exceptions per agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, label, set_attributes

BEFORE = {'recorded': 'Keep as recorded', 'live': 'Run again', 'simulated': 'Run again, simulated'}
AFTER = {
    'live': 'Run with the models and tools chosen below',
    'recorded': 'Replay recorded steps while they match',
    'simulated': 'Simulate: the scripted model answers',
}
BEYOND = {'stop': 'Pause and wait for me', 'live': 'Continue live', 'simulated': 'Continue simulated'}
SHORT = {'live': 'Run live', 'recorded': 'Replay', 'simulated': 'Simulated'}
DEFAULT = {'before': 'recorded', 'after': 'live', 'beyond': 'stop'}


class ReplayChoices:
    """The choices of one variant.

    Args:
        at: the step of the fork.
        agents: agents' names by path; each may get an exception.
        on_change: called after every change.
    """

    def __init__(self, at: int, agents: Mapping[str, str], *, on_change: Callable[[], None]) -> None:
        self._agents, self._on_change = dict(agents), on_change
        self._exceptions: dict[str, str] = {}
        with Box('form'):
            self._before = self._draw_choice(f'Steps 1 to {at}', BEFORE, DEFAULT['before'])
            self._after = self._draw_choice(f'Steps after {at}', AFTER, DEFAULT['after'])
            with Box('ghost') as self._recorded_only:
                self._beyond = self._draw_choice('When the recording runs out', BEYOND, DEFAULT['beyond'])
            if agents:
                with Box('fold', 'details'):
                    with Box(tag='summary'):
                        Text('span', 'Exceptions by agent')
                        self._brief = Text('span', '', 'muted brief')
                    self._rows = Box('fork-rows')
                    with Box('fork-add'):
                        self._who = NativeSelect({'': 'Agent…', **self._agents}, value='')
                        set_attributes(self._who, aria_label='Agent')
                        self._how = NativeSelect(SHORT, value='recorded')
                        set_attributes(self._how, aria_label='Its steps after the fork')
                        button('Add', icon='add', kind='small').on('click', self._add)
        self._update()

    def _draw_choice(self, title: str, options: Mapping[str, str], value: str) -> NativeSelect:
        with Box('field'):
            head = Box('field-head')
            choice = NativeSelect(options, value=value, on_change=self._notify)
            with head:
                label(title, choice)
        return choice

    @property
    def raw(self) -> dict[str, Any]:
        """The choices, as keyword arguments of `ForkOverrides`."""
        return {
            'before': self._before.value,
            'after': self._after.value,
            'beyond': self._beyond.value,
            'plays': dict(self._exceptions),
        }

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Copy the choices of another variant."""
        for name, choice in (('before', self._before), ('after', self._after), ('beyond', self._beyond)):
            choice.set_value(str(raw.get(name, DEFAULT[name])))
        self._exceptions = dict(raw.get('plays', {}))
        self._update()

    def _add(self) -> None:
        if self._who.value:
            self._exceptions[self._who.value] = self._how.value
            self._who.set_value('')
            self._notify()

    def _drop(self, path: str) -> None:
        self._exceptions.pop(path, None)
        self._notify()

    def _notify(self) -> None:
        self._update()
        self._on_change()

    def _update(self) -> None:
        self._recorded_only.set_visibility('recorded' in (self._after.value, *self._exceptions.values()))
        if not self._agents:
            return
        self._brief.show(f'{len(self._exceptions)}' if self._exceptions else '')
        self._rows.clear()
        with self._rows:
            for path, play in self._exceptions.items():
                name = self._agents.get(path, path)
                with Box('fork-row'):
                    Text('span', name)
                    Text('span', SHORT[play], 'chip')
                    Box('grow', 'span')
                    drop = button('', icon='close', kind='quiet small', label=f'Remove exception for {name}')
                    drop.on('click', lambda path=path: self._drop(path))

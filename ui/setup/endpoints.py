"""Endpoints on the settings page: where models come from, and a test that says what is wrong."""

from __future__ import annotations

import asyncio

from nicegui import ui

from engine import HOMES, Health, Offered
from ui.door import Door
from ui.parts import Text
from ui.presenters.words import count
from ui.setup.card import Judgement, TestCard
from ui.theme import button, empty

FOUND = {
    'file': 'the configuration file',
    'environment': 'the environment',
    'this machine': 'a look at this machine',
}
HINTS = {
    'connection': 'Is it running, and is the address right?',
    'timeout': 'Is it running, and is the address right?',
    'auth': 'Look whether the key is right, and may be used for this.',
    'not found': 'Look at the address: it is all that stands before /chat/completions.',
    'bad response': 'Look at the address: it is all that stands before /chat/completions.',
    'quota': 'Look at the account of this key.',
    'rate limit': 'Try again later.',
    'overloaded': 'Try again later.',
    'server': 'Try again later.',
}
"""What to do, by the kind of error."""


class Endpoints:
    """All endpoints as cards; what is found later is added below those that are there."""

    def __init__(self, door: Door) -> None:
        """Draw them."""
        self._door, self._cards, self._busy = door, dict[str, EndpointCard](), False
        with ui.element('div').classes('section-head'):
            Text('h2', 'Models', id='models')
            ui.element('div').classes('grow')
            self._all = button('Test all', icon='network_check', kind='small').on('click', self._test_all)
            self._look = button('Look again on this machine', icon='search', kind='small')
            self._look.on('click', self.look)
        with ui.element('ul').classes('endpoints') as self._place:
            self._draw_loaded()
        self._none = ui.element('div').classes('ghost')
        self._told = Text('p', self._homes(), 'muted small', role='status')
        self._show()
        self._draw_unused()

    def _draw_loaded(self) -> None:
        """The models that need no endpoint."""
        for name, model in self._door().catalog.models.items():
            with ui.element('li').classes('card endpoint'), ui.element('div').classes('endpoint-head'):
                Text('h3', name, 'mono')
                Text('span', 'Ready', 'pill done')
                words = 'Simulated: no key, no network, free' if model.simulated else 'From a file of yours'
                Text('span', words, 'muted')

    def _draw_unused(self) -> None:
        unused = self._door().catalog.offer.unused()
        if not unused:
            return
        with ui.element('details').classes('more-text'):
            Text('summary', f'{count(len(unused), "more provider")} that a key in the environment adds')
            with ui.element('dl').classes('facts'):
                for name, variable in unused.items():
                    with ui.element('div'):
                        Text('dt', name)
                        with ui.element('dd'):
                            Text('code', variable)

    def _homes(self) -> str:
        known = {offered.endpoint for offered in self._door().catalog.offer.offered()}
        silent = [f'{name} ({home.url.split("/")[2]})' for name, home in HOMES.items() if name not in known]
        return f'Looked for on this machine, and not there: {", ".join(silent)}.' if silent else ''

    def _show(self) -> None:
        """Draw the endpoints that have no card yet."""
        with self._place:
            for offered in self._door().catalog.offer.offered():
                if offered.endpoint not in self._cards:
                    self._cards[offered.endpoint] = EndpointCard(self._door, offered)
        self._told.show(self._homes())
        self._all.set_visibility(bool(self._cards))
        self._none.clear()
        if not self._cards:
            with self._none:
                empty('cloud_off', 'No real model is configured; the scripted one plays all roles.')

    async def look(self) -> None:
        """Look for servers on this machine."""
        if self._busy:
            return
        self._busy = True
        self._look.props('disabled').classes('busy')
        try:
            await self._door().catalog.offer.discover()
        finally:
            self._busy = False
            self._look.props(remove='disabled').classes(remove='busy')
        self._show()

    async def _test_all(self) -> None:
        await asyncio.gather(*(card.test() for card in self._cards.values()))


class EndpointCard(TestCard[Health]):
    """One endpoint: what is known of it, a test, and its models."""

    def __init__(self, door: Door, offered: Offered) -> None:
        """Draw it; nothing is asked of it yet."""
        self._door = door
        super().__init__(
            offered.endpoint,
            {'Address': offered.url, 'Found by': FOUND[offered.found], 'Key': _key(offered)},
            offered.problem,
        )
        self._list(offered.models)

    async def ask(self) -> Health:
        """Ask it for its models."""
        return await self._door().catalog.offer.test(self.name)

    def judge(self, health: Health) -> Judgement:
        """How it is."""
        if health.problem:
            said = health.problem.removeprefix(f'{self.name}: ')
            return Judgement(ok=False, said=said, hint=HINTS.get(health.kind, ''))
        self._list(health.models)
        models = count(len(health.models), 'model') if health.models else 'no model'
        return Judgement(ok=True, said=f'it answers, and offers {models}')

    def _list(self, models: tuple[str, ...]) -> None:
        told = count(len(models), 'model') if models else 'Models: not known before a test'
        self.list(told, [f'{self.name}/{model}' for model in models])


def _key(offered: Offered) -> str:
    kind, _, place = offered.key.partition(':')
    where = f'the environment variable {place}' if kind == 'env' else f'the keyring, as {place}'
    if not offered.key:
        return 'It needs none'
    return f'Missing: looked for in {where}' if offered.problem else f'There, in {where}'

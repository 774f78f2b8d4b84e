"""Endpoints on the settings page: where models come from, and a test that says what is wrong with each."""

from __future__ import annotations

import asyncio
import time

from nicegui import background_tasks, ui

from engine import HOMES, Health, Offered
from ui.door import Door
from ui.parts import Text, attach
from ui.theme import button, empty
from ui.words import count, took

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
MOST_SAID = 220
"""Characters of what an endpoint says: some answer with a whole page."""
MOST_MODELS = 500
"""Models of one endpoint that are listed."""


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


class EndpointCard:
    """One endpoint: what is known of it, a test, and its models."""

    def __init__(self, door: Door, offered: Offered) -> None:
        """Draw it; nothing is asked of it yet."""
        self._door, self._name, self._task = door, offered.endpoint, None
        with ui.element('li').classes('card endpoint'):
            with ui.element('div').classes('endpoint-head'):
                Text('h3', offered.endpoint, 'mono')
                self._pill = Text('span', 'Not tested', 'pill')
                ui.element('div').classes('grow')
                self._button = button('Test', kind='small').on('click', self.test)
                attach(self._button, aria_label=f'Test {offered.endpoint}')
            with ui.element('dl').classes('facts'):
                _fact('Address', offered.url or 'none', 'code')
                _fact('Found by', FOUND[offered.found])
                _fact('Key', _key(offered))
            self._said = Text('p', 'Nothing was asked of it yet.', 'endpoint-said muted', role='status')
            with ui.element('details').classes('more-text') as self._fold:
                self._count = Text('summary', '')
                self._models = ui.element('ul').classes('models').props('tabindex="0"')
        self._list(offered.models)
        if offered.problem:
            self._tell('Cannot be used', 'failed', offered.problem)

    _task: asyncio.Task[Health] | None

    async def test(self) -> None:
        """Ask it for its models, and say how that went."""
        if self._task is not None:
            return
        self._button.props('disabled').classes('busy')
        self._tell('Testing', 'running', 'Asking it for its models …')
        started = time.monotonic()
        test = self._door().catalog.offer.test(self._name)
        self._task = background_tasks.create(test, name=f'test {self._name}')
        try:
            await asyncio.wait({self._task})
            health = self._task.result()
        finally:
            self._task = None
            self._button.props(remove='disabled').classes(remove='busy')
        passed = took(time.monotonic() - started)
        if health.problem:
            said = health.problem.removeprefix(f'{self._name}: ').rstrip('.')
            said = said if len(said) <= MOST_SAID else f'{said[:MOST_SAID].rstrip()} …'
            self._tell('Does not work', 'failed', f'{said}. {HINTS.get(health.kind, "")} ({passed})')
            return
        self._list(health.models)
        models = count(len(health.models), 'model') if health.models else 'no model'
        self._tell('Works', 'done', f'It answered within {passed}, and offers {models}.')

    def _tell(self, word: str, kind: str, said: str) -> None:
        self._pill.show(word)
        self._pill.classes(replace=f'pill {kind}')
        self._said.show(f'{said[:1].upper()}{said[1:]}{"" if said.endswith((".", "…", ")")) else "."}')

    def _list(self, models: tuple[str, ...]) -> None:
        self._count.show(count(len(models), 'model') if models else 'Models: not known before a test')
        self._models.clear()
        with self._models:
            for model in models[:MOST_MODELS]:
                with ui.element('li'):
                    Text('code', f'{self._name}/{model}')
            if len(models) > MOST_MODELS:
                Text('li', f'and {len(models) - MOST_MODELS} more', 'muted')


def _fact(name: str, text: str, tag: str = 'span') -> None:
    with ui.element('div'):
        Text('dt', name)
        with ui.element('dd'):
            Text(tag, text)


def _key(offered: Offered) -> str:
    kind, _, place = offered.key.partition(':')
    where = f'the environment variable {place}' if kind == 'env' else f'the keyring, as {place}'
    if not offered.key:
        return 'It needs none'
    return f'Missing: looked for in {where}' if offered.problem else f'There, in {where}'

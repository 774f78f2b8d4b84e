"""Endpoints on the settings page: the sources of models, with a test of each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from typing_extensions import override

from engine.configuration import keys_file
from engine.models import LOCAL_ENDPOINTS, EndpointHealth, EndpointInfo
from ui.app.backend import Backend
from ui.formatting.values import count
from ui.web.components.debounce import create_page_task
from ui.web.components.theme import button, empty_state, section_head
from ui.web.components.widgets import Box, Text
from ui.web.pages.settings.card import CheckResult, TestCard
from ui.web.pages.shared.connecting.dialog import TITLE, ConnectDialog
from ui.web.pages.shared.connecting.result import describe

SOURCE_LABELS = {
    'file': 'the configuration file',
    'environment': 'the environment',
    'this machine': 'discovery on this machine',
}
TEST_CALLS = 'A test asks one model for a single word, which may cost a fraction of a cent.'


class Endpoints:
    """All endpoints as cards; endpoints found later are added at the end.

    Args:
        backend: the backend.
        on_change: called when the configuration has changed.
    """

    def __init__(self, backend: Backend, on_change: Callable[[], Any]) -> None:
        self._backend, self._cards, self._busy = backend, dict[str, EndpointCard](), False
        self._on_change = on_change
        self._connect = ConnectDialog(backend, self._redraw)
        with section_head('Models', 'models'):
            button(TITLE, icon='add', kind='small primary', requires='endpoints.save').on(
                'click', self._connect.open
            )
            self._all = button('Test all', icon='network_check', kind='small', requires='endpoints.test').on(
                'click', self._test_all
            )
            self._find_button = button(
                'Rescan this machine', icon='search', kind='small', requires='endpoints.discover'
            )
            self._find_button.on('click', self.find_servers)
        with Box('endpoints', 'ul') as self._place:
            self._draw_loaded()
        self._none = Box('ghost')
        self._status = Text('p', self._describe_silent(), 'muted small', role='status')
        Text('p', TEST_CALLS, 'muted small')
        self._show()

    def _draw_loaded(self) -> None:
        """Draw the models that need no endpoint."""
        for name, model in self._backend().catalog.models.items():
            with Box('card endpoint', 'li'), Box('endpoint-head'):
                Text('h3', name, 'mono')
                Text('span', 'Ready', 'pill done')
                words = 'Simulated: no key, no network, free' if model.simulated else 'Loaded from a file'
                Text('span', words, 'muted')

    def _describe_silent(self) -> str:
        offered_names = {offered.endpoint for offered in self._backend().catalog.registry.endpoint_infos()}
        silent = [
            f'{name} ({home.url.split("/")[2]})'
            for name, home in LOCAL_ENDPOINTS.items()
            if name not in offered_names
        ]
        return f'Not found on this machine: {", ".join(silent)}.' if silent else ''

    def _show(self) -> None:
        """Draw the endpoints that have no card yet."""
        with self._place:
            for offered in self._backend().catalog.registry.endpoint_infos():
                if offered.endpoint not in self._cards:
                    card = EndpointCard(self._backend, offered)
                    self._cards[offered.endpoint] = card
                    if offered.found == 'file':
                        card.add_button('Edit', self._connect.open)
        self._status.show(self._describe_silent())
        self._all.set_visibility(bool(self._cards))
        self._none.clear()
        if not self._cards:
            with self._none:
                empty_state('cloud_off', 'No live model is configured; the scripted model plays all roles.')

    def _redraw(self) -> None:
        """Redraw all cards after the configuration has changed."""
        for card in self._cards.values():
            card.delete()
        self._cards.clear()
        self._show()
        self._on_change()
        create_page_task(self._place, self.load(), 'show the last tests of models')

    async def load(self) -> None:
        """Show the last test of each."""
        for info in await self._backend().endpoints.list():
            card = self._cards.get(info.endpoint)
            if card and info.tested:
                card.show_last(info.tested)

    async def find_servers(self) -> None:
        """Look for servers on this machine."""
        if self._busy:
            return
        self._busy = True
        self._find_button.props('disabled').classes('busy')
        try:
            await self._backend().endpoints.discover()
        finally:
            self._busy = False
            self._find_button.props(remove='disabled').classes(remove='busy')
        self._show()

    async def _test_all(self) -> None:
        await asyncio.gather(*(card.test() for card in self._cards.values()))


class EndpointCard(TestCard[EndpointHealth]):
    """One endpoint: its facts, a test, and its models."""

    def __init__(self, backend: Backend, offered: EndpointInfo) -> None:
        """Draw it; it is not contacted yet."""
        self._backend = backend
        super().__init__(
            offered.endpoint,
            {
                'Address': offered.url,
                'Source': SOURCE_LABELS[offered.found],
                'Key': _describe_key(offered),
                'Limits': _describe_limits(offered),
                **({'Certificate authority': offered.ca} if offered.ca else {}),
                **({'Client certificate': offered.certificate} if offered.certificate else {}),
            },
            offered.problem,
        )
        self._list_models(offered.models)

    async def run_test(self) -> EndpointHealth:
        """List its models."""
        return await self._backend().endpoints.test(self.name)

    @override
    def evaluate(self, health: EndpointHealth) -> CheckResult:
        detail, hint = describe(health)
        if not health.problem:
            self._list_models(health.models)
        return CheckResult(ok=not health.problem, detail=detail, hint=hint, at=health.at)

    def _list_models(self, models: tuple[str, ...]) -> None:
        summary = count(len(models), 'model') if models else 'Models: unknown until tested'
        self.show_list(summary, [f'{self.name}/{model}' for model in models])


def _describe_limits(offered: EndpointInfo) -> str:
    """Return the endpoint's rate limits, shared by all runs."""
    facts = [f'{count(offered.at_once, "call")} at a time' if offered.at_once else '']
    if offered.requests_per_minute:
        facts.append(f'{count(offered.requests_per_minute, "request")} a minute')
    if offered.tokens_per_minute:
        facts.append(f'{count(offered.tokens_per_minute, "token")} a minute')
    return ', '.join(filter(None, facts))


def _describe_key(offered: EndpointInfo) -> str:
    if not offered.key:
        return 'Not required'
    kind, _, place = offered.key.partition(':')
    where = {
        'env': f'the environment variable {place}',
        'keyring': f'the keyring, as {place}',
        'file': f'{keys_file()}, not encrypted',
    }[kind]
    return f'Missing: expected in {where}' if offered.problem else f'Found in {where}'

"""A card of something that can be tested: what is known of it, how the test went, and what it offers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from nicegui import background_tasks, ui

from ui.parts import Text, attach
from ui.presenters.words import took
from ui.theme import button

T = TypeVar('T')

MOST_SAID = 220
"""Characters of a problem: some servers answer with a whole page."""
MOST_LISTED = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How a test went."""

    ok: bool
    said: str
    hint: str = ''
    """What to do, in a sentence."""


class TestCard(Generic[T]):
    """Drawn once; a test changes its words, and moves nothing beside it."""

    __test__ = False  # not one of pytest's

    def __init__(self, name: str, facts: Mapping[str, str], problem: str) -> None:
        """Draw it; `problem` is why it cannot be used as it is configured, or ''."""
        self.name, self._task = name, None
        with ui.element('li').classes('card endpoint'):
            with ui.element('div').classes('endpoint-head'):
                Text('h3', name, 'mono')
                self._pill = Text('span', 'Not tested', 'pill')
                ui.element('div').classes('grow')
                self._button = button('Test', kind='small').on('click', self.test)
                attach(self._button, aria_label=f'Test {name}')
            with ui.element('dl').classes('facts'):
                for fact, text in facts.items():
                    with ui.element('div'):
                        Text('dt', fact)
                        Text('dd', text or 'none')
            self._said = Text('p', 'Nothing was asked of it yet.', 'endpoint-said muted', role='status')
            with ui.element('details').classes('more-text'):
                self._count = Text('summary', '')
                self._listed = ui.element('ul').classes('models').props('tabindex="0"')
        if problem:
            self._tell('Cannot be used', 'failed', problem)

    _task: asyncio.Task[Any] | None

    async def ask(self) -> T:
        """Make the test."""
        raise NotImplementedError

    def judge(self, found: T) -> Judgement:
        """What the test says."""
        raise NotImplementedError

    async def test(self) -> None:
        """Test it, and say how that went."""
        if self._task is not None:
            return
        self._button.props('disabled').classes('busy')
        self._tell('Testing', 'running', 'Waiting for its answer …')
        started = time.monotonic()
        self._task = background_tasks.create(self.ask(), name=f'test {self.name}')
        try:
            await asyncio.wait({self._task})
            found = self._task.result()
        finally:
            self._task = None
            self._button.props(remove='disabled').classes(remove='busy')
        judged, passed = self.judge(found), took(time.monotonic() - started)
        said = ' '.join(judged.said.split()).rstrip('.')
        said = said if len(said) <= MOST_SAID else f'{said[:MOST_SAID].rstrip()} …'
        words, kind = ('Works', 'done') if judged.ok else ('Does not work', 'failed')
        self._tell(words, kind, ' '.join(filter(None, [f'{said}.', judged.hint, f'({passed})'])))

    def list(self, told: str, names: Sequence[str]) -> None:
        """Show what it offers."""
        self._count.show(told)
        self._listed.clear()
        with self._listed:
            for name in names[:MOST_LISTED]:
                with ui.element('li'):
                    Text('code', name)
            if len(names) > MOST_LISTED:
                Text('li', f'and {len(names) - MOST_LISTED} more', 'muted')

    def _tell(self, word: str, kind: str, said: str) -> None:
        self._pill.show(word)
        self._pill.classes(replace=f'pill {kind}')
        first = said.partition(' ')[0]
        start = first if '.' in first or ':' in first else first.capitalize()  # an address stays as it is
        self._said.show(f'{start}{said[len(first) :]}{"" if said.endswith((".", "…", ")")) else "."}')

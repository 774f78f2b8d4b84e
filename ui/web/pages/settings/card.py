"""A card for something testable: facts, test result, and what it offers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from engine.records import clip
from ui.formatting.values import ago, short_duration
from ui.web.components.debounce import create_page_task
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes

T = TypeVar('T')

MAX_PROBLEM = 220
"""Maximum characters of a problem: some servers answer with a whole page."""
MAX_LISTED_ITEMS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Whether a test passed, as shown on its card."""

    ok: bool
    detail: str
    hint: str = ''
    """What to do, in a sentence."""
    at: float = 0.0
    """When it was tested, in seconds since 1970; 0 if it is not remembered."""


class TestCard(Generic[T]):
    """A card; a test updates its text in place without shifting the layout around it."""

    __test__ = False  # not a test case for pytest

    def __init__(self, name: str, facts: Mapping[str, str], problem: str) -> None:
        """Draw it; `problem` is why its configuration cannot work, or ''."""
        self.name, self._task = name, None
        with Box('card endpoint', 'li') as self._root:
            with Box('endpoint-head') as self.head:
                Text('h3', name, 'mono')
                self._pill = Text('span', 'Not tested', 'pill')
                Box('grow')
                self._button = button('Test', kind='small', requires='endpoints.test').on('click', self.test)
                set_attributes(self._button, aria_label=f'Test {name}')
            with Box('facts', 'dl'):
                for fact, text in facts.items():
                    with Box():
                        Text('dt', fact)
                        Text('dd', text or 'none')
            self._status = Text('p', 'Not tested yet.', 'endpoint-status muted', role='status')
            with Box('more-text', 'details'):
                self._count = Text('summary', '')
                self._listed = Box('models', 'ul', tabindex='0')
        if problem:
            self._show_status('Unavailable', 'failed', problem)

    _task: asyncio.Task[Any] | None

    def add_button(self, text: str, act: Callable[[str], Any]) -> None:
        """Draw a button that calls `act` with the card's name."""
        with self.head:
            button(text, kind='small', requires='endpoints.save', aria_label=f'{text} {self.name}').on(
                'click', lambda: act(self.name)
            )

    def delete(self) -> None:
        """Remove the card from the page."""
        self._root.delete()

    async def run_test(self) -> T:
        """Contact what the card describes; return what `evaluate` judges. Abstract."""
        raise NotImplementedError

    def evaluate(self, result: T) -> CheckResult:
        """Judge the outcome of `run_test`, for display. Abstract."""
        raise NotImplementedError

    async def test(self) -> None:
        """Run the test and show its result."""
        await self.test_with(self.run_test(), 'Waiting for an answer…')

    async def test_with(self, running: Coroutine[Any, Any, T], meanwhile: str) -> None:
        """Show the result of `running`, and `meanwhile` until then; ignored while a test is running."""
        if self._task is not None:
            running.close()
            return
        self._button.props('disabled').classes('busy')
        self._show_status('Testing', 'running', meanwhile)
        started = time.monotonic()
        self._task = create_page_task(self._root, running, f'test {self.name}')
        try:
            await asyncio.wait({self._task})
            result = self._task.result()
        finally:
            self._task = None
            self._button.props(remove='disabled').classes(remove='busy')
        self._show_result(self.evaluate(result), f'({short_duration(time.monotonic() - started)})')

    def show_last(self, result: T) -> None:
        """Show the result of an earlier test, unless one is running."""
        if self._task is None:
            verdict = self.evaluate(result)
            self._show_result(verdict, f'Tested {ago(verdict.at, time.time())}.')

    def _show_result(self, verdict: CheckResult, when: str) -> None:
        text = clip(' '.join(verdict.detail.split()).rstrip('.'), MAX_PROBLEM)
        words, kind = ('Works', 'done') if verdict.ok else ('Failed', 'failed')
        self._show_status(words, kind, ' '.join(filter(None, [f'{text}.', verdict.hint, when])))

    def show_list(self, title: str, names: Sequence[str]) -> None:
        """Show what it offers."""
        self._count.show(title)
        self._listed.clear()
        with self._listed:
            for name in names[:MAX_LISTED_ITEMS]:
                with Box(tag='li'):
                    Text('code', name)
            if len(names) > MAX_LISTED_ITEMS:
                Text('li', f'and {len(names) - MAX_LISTED_ITEMS} more', 'muted')

    def _show_status(self, word: str, kind: str, text: str) -> None:
        self._pill.show(word)
        self._pill.classes(replace=f'pill {kind}')
        first = text.partition(' ')[0]
        start = first if '.' in first or ':' in first else first.capitalize()  # addresses keep their case
        self._status.show(f'{start}{text[len(first) :]}{"" if text.endswith((".", "…", ")")) else "."}')

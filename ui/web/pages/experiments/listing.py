"""The list of experiments: what each compares, how far it is, and what it says."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final

from nicegui import ui
from nicegui.element import Element

from engine import EngineError
from engine.operations.experiments import Experiment
from engine.records import clip
from ui.app.backend import Backend
from ui.formatting.experiments.words import STATES
from ui.formatting.steps import author_text
from ui.formatting.values import ago, as_sentence, count, exact
from ui.web.components.debounce import create_page_task
from ui.web.components.theme import button, empty_state, text_notice
from ui.web.components.widgets import (
    Box,
    CachedElement,
    NativeSelect,
    Text,
    draw_changes,
    link,
    set_attributes,
    text_input,
)
from ui.web.pages.experiments.sample import run_sample
from ui.web.permission import is_permitted

POLL_SECONDS = 2.0
VERDICT_SECONDS = 20.0
"""How long what an ended experiment says is kept: people may mark its runs later."""
MAX_VERDICTS = 500
MAX_NAMES, MAX_NAME = 4, 40
"""Maximum number of variants that are named, and of characters of each name."""
MAX_SHOWN = 100
"""Maximum number of experiments listed; the filters find the others."""
FILTERS_FROM = 4
"""Number of experiments from which filters are offered."""
_verdicts: Final[OrderedDict[str, tuple[float, str]]] = OrderedDict()
"""What experiments say, with the time until which that is kept; by id, state and scorers."""


class ExperimentList:
    """The experiments that fit the filters, newest first; each row is redrawn only when it changes."""

    def __init__(self, backend: Backend) -> None:
        """Draw it empty; `load` reads it."""
        self._backend = backend
        self._all: list[Experiment] = []
        self._drawn: dict[str, tuple[tuple[Experiment, str, str], Element]] = {}
        self._said: dict[str, str] = {}
        self._is_answering = False
        with Box('filters') as self._filters:
            with Box('filter wide'):
                self._text = text_input(
                    '', placeholder='Find an experiment', aria_label='Find an experiment', kind='search'
                )
                self._text.on_value_change(self._show)
            with Box('filter roomy'):
                self._pattern = NativeSelect({'': 'All patterns'}, value='', on_change=self._show)
                set_attributes(self._pattern, aria_label='Pattern')
            with Box('filter roomy'):
                states = {'': 'All states'} | {state: words for state, (words, _) in STATES.items()}
                self._state = NativeSelect(states, value='', on_change=self._show)
                set_attributes(self._state, aria_label='State')
        self._filters.set_visibility(False)
        self._problem = CachedElement('ghost')
        self._list = Box('card experiments', 'ul', data_redrawn=True)
        self._note = Text('p', '', 'muted small')
        self._none = CachedElement('ghost')

    async def load(self) -> None:
        """Fill it, and keep it up to date."""
        await self.refresh()
        with self._list:
            ui.timer(POLL_SECONDS, self.refresh, immediate=False)

    async def refresh(self) -> None:
        """Read the experiments again."""
        try:
            self._all = await self._backend().experiments.list()
        except EngineError as error:
            if self._problem.clear_if_changed(str(error)):
                with self._problem:
                    text_notice('fail', 'error', f'Experiments cannot be loaded: {error}. Retrying.')
            return
        if self._list.is_deleted:
            return
        self._problem.clear_if_changed('')
        titles = {
            name: pattern.title
            for name, pattern in self._backend().catalog.patterns.items()
            if name in {item.base.pattern for item in self._all}
        }
        self._pattern.set_options({'': 'All patterns'} | titles)
        self._filters.set_visibility(len(self._all) >= FILTERS_FROM)
        self._show()
        if not self._is_answering:
            create_page_task(self._list, self._find_verdicts(), 'verdicts of experiments')

    def _show(self) -> None:
        words = str(self._text.value or '').casefold().split()
        shown = [
            item
            for item in self._all
            if self._pattern.value in ('', item.base.pattern)
            and self._state.value in ('', item.state)
            and all(word in _searched(item) for word in words)
        ]
        now = self._backend().clock.now()
        rows = {
            item.id: (item, self._said.get(item.id, ''), ago(item.created, now)) for item in shown[:MAX_SHOWN]
        }
        draw_changes(self._list, self._drawn, rows, self._draw)
        self._list.set_visibility(bool(rows))
        left_out = len(shown) - len(rows)
        self._note.show(f'{count(left_out, "older experiment")} not shown.' if left_out else '')
        if self._none.clear_if_changed((bool(shown), bool(self._all))) and not shown:
            with self._none, Box('card'):
                self._draw_none()

    def _draw_none(self) -> None:
        if self._all:
            empty_state('search_off', 'No experiments match.')
            return
        words = 'No experiments yet. The sample compares three variants on eight cases, offline and for free.'
        empty_state('balance', words)
        if is_permitted('experiments.add'):
            with Box('empty-action'):
                sample = button('Run the sample', icon='play_arrow', kind='primary')
                sample.on('click', lambda: run_sample(self._backend))

    def _draw(self, row: tuple[Experiment, str, str]) -> Element:
        item, verdict, started = row
        word, kind = STATES[item.state]
        title = self._backend().catalog.patterns.get(item.base.pattern)
        with Box(tag='li') as element, link(f'/experiments/{item.id}', 'experiment'):
            with Box('experiment-state', 'span'):
                Text('span', word, f'pill {kind}')
            with Box('experiment-about', 'span'):
                with Box('chips', 'span'):
                    Text('span', item.name, 'experiment-name', dir='auto')
                    Text('span', title.title if title else item.base.pattern, 'chip')
                if text := verdict or as_sentence(item.reason):
                    Text('span', text, 'experiment-says', dir='auto')
                Text('span', f'{_names(item)} · by {item.scorers[0].name}', 'muted small', dir='auto')
            with Box('experiment-when muted small', 'span'):
                Text('time', started, 'num', title=exact(item.created))
                Text('span', author_text(item.author))
        return element

    async def _find_verdicts(self) -> None:
        """Work out what each shown experiment says, one after the other."""
        self._is_answering = True
        try:
            for item in [row[0] for row, _ in self._drawn.values()]:
                verdict = await self._verdict(item)
                if self._list.is_deleted:
                    return
                if verdict and verdict != self._said.get(item.id):
                    self._said[item.id] = verdict
                    self._show()
        finally:
            self._is_answering = False

    async def _verdict(self, item: Experiment) -> str:
        key, now = f'{item.id} {item.state} {item.digest}', time.monotonic()
        until, verdict = _verdicts.get(key, (0.0, ''))
        if until > now:
            return verdict
        try:
            verdict = (await self._backend().experiments.answer(item.id)).text
        except EngineError:
            return ''  # its own page says why
        _verdicts[key] = now + VERDICT_SECONDS, verdict
        _verdicts.move_to_end(key)
        while len(_verdicts) > MAX_VERDICTS:
            _verdicts.popitem(last=False)
        return verdict


def _names(item: Experiment) -> str:
    """Return the names of the first variants, and how many others there are."""
    shown = [clip(variant.name, MAX_NAME) for variant in item.variants[:MAX_NAMES]]
    left_out = len(item.variants) - len(shown)
    return ', '.join(shown) + (f' and {count(left_out, "other")}' if left_out else '')


def _searched(item: Experiment) -> str:
    names = ' '.join(variant.name for variant in item.variants)
    return f'{item.name} {item.base.pattern} {names} {item.author}'.casefold()

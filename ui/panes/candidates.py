"""Candidates side by side: model, state, tests, files, ranking, versions, and a choice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from engine import View
from ui.elements import Conversation
from ui.panes.around import Around
from ui.panes.choosing import Choosing
from ui.panes.difference import Difference
from ui.panes.verdict import result
from ui.parts import Text, attach, fold
from ui.presenters.contests import CHOICE, PICKED, Entrant, Made, Suite, entrants
from ui.presenters.files import size
from ui.theme import button, empty

STATES = {
    'working': ('pending', 'At work'),
    'ready': ('check', 'Ready'),
    'failed': ('error_outline', 'Failed'),
    'set aside': ('inventory_2', 'Set aside'),
}
PLACES = ('', '1st', '2nd', '3rd')


class Candidates:
    """All that several have made of one task, at the step that is shown."""

    def __init__(self, around: Around, seek: Callable[[int], Awaitable[None]]) -> None:
        self._around, self._seek = around, seek
        self._shown: object = None
        self._opened: set[str] = set()
        with ui.element('div').classes('candidates') as self.root:
            self._choosing = Choosing(around)
            self._cards = ui.element('div').classes('entrants')
            self._difference = Difference(around)
            self._ladder = ui.element('section').classes('ladder').props('aria-label="Versions"')
        with ui.element('div') as self._none:
            empty('compare', 'Nobody has made a version yet.')

    def show(self, view: View, *, live: bool, mine: bool) -> None:
        """Show the candidates as they are at `view`."""
        found = entrants(view, self._around.shape, self._around.history)
        asked = live and mine and view.waiting == CHOICE
        self._choosing.show(view, found, live=live, mine=mine)
        shown = (found, asked)
        if shown == self._shown:
            return
        self._shown = shown
        begun = any(entrant.versions or entrant.problem for entrant in found)
        self.root.set_visibility(begun)
        self._none.set_visibility(not begun)
        self._cards.clear()
        with self._cards:
            for entrant in found:
                self._card(entrant, asked=asked)
        self._ladder.clear()
        with self._ladder:
            Text('h2', 'Versions')
            for entrant in found:
                if entrant.versions:
                    self._versions(entrant)
        self._difference.offer(found)

    def open(self, opened: bool) -> None:
        """Somebody looks now, or not any more."""
        self._difference.open(opened)

    def _card(self, entrant: Entrant, *, asked: bool) -> None:
        made = entrant.latest
        with ui.element('article').classes(f'entrant {"picked" if entrant.picked else ""}') as card:
            attach(card, aria_label=entrant.name)
            with ui.element('div').classes('entrant-head'):
                Text('h3', entrant.name)
                if entrant.place:
                    place = PLACES[entrant.place] if entrant.place < len(PLACES) else f'{entrant.place}th'
                    Text('span', place, 'chip strong', title=f'Ranked {place}: {entrant.points:g} points')
                ui.element('span').classes('grow')
                icon, word = STATES.get(entrant.status, ('help_outline', entrant.status))
                with ui.element('span').classes(f'chip state-{entrant.status.replace(" ", "-")}'):
                    ui.icon(icon).props('size="15px" aria-hidden="true"')
                    ui.label(word)
            if entrant.picked:
                with ui.element('p').classes('entrant-picked'):
                    ui.icon('star').props('size="16px" aria-hidden="true"')
                    Text('span', f'Picked: {PICKED.get(entrant.picked, entrant.picked)}')
            facts = [entrant.model, f'version {made.number}' if made else '']
            Text('p', ' · '.join(filter(None, facts)), 'muted small')
            if entrant.problem:
                Text('p', entrant.problem, 'entrant-problem')
            if made:
                self._tests(entrant.name, 'Required tests', made.required)
                self._tests(entrant.name, 'Tests of its own', made.own)
                self._files(made)
                if made.said:
                    with ui.element('div').classes('entrant-said'):
                        Conversation(
                            [{'kind': 'text', 'text': made.said}], label='What it says', follow=False
                        )
            if asked and entrant.in_play:
                take = button(f'Take {entrant.name}', icon='how_to_reg', kind='primary')
                take.on('click', lambda: self._choosing.confirm(entrant))

    def _tests(self, name: str, title: str, suite: Suite) -> None:
        with ui.element('div').classes('entrant-tests'):
            result(suite, title)
            total = suite.passed + suite.broken
            if total:
                with ui.element('div').classes('test-bar').props('aria-hidden="true"'):
                    ui.element('div').style(f'width: {suite.passed / total:.1%}')
            if suite.failures or suite.problem:
                self._failures(f'{name}/{title}', suite)

    def _failures(self, key: str, suite: Suite) -> None:
        listed, broken = len(suite.failures), suite.broken
        told = f'{broken}' if listed == broken else f'the first {listed} of {broken}'
        with fold(self._opened, key, 'Why there is none' if suite.problem else f'What failed ({told})'):
            if suite.problem:
                Text('pre', suite.problem, tabindex='0')
            for name, detail in suite.failures:
                Text('b', name, 'mono')
                Text('pre', detail, tabindex='0', aria_label=f'Why {name} failed')

    def _files(self, made: Made) -> None:
        with ui.element('ul').classes('entrant-files'):
            for path, length in made.files:
                with ui.element('li'):
                    Text('span', path, 'mono')
                    if made.merged and path in made.merged:
                        Text('span', f'from {made.merged[path]}', 'chip')
                    Text('span', size(length), 'muted small num')

    def _versions(self, entrant: Entrant) -> None:
        Text('h3', entrant.name)
        with ui.element('ol').classes('rungs'):
            for before, made in zip((None, *entrant.versions), entrant.versions, strict=False):
                self._rung(before, made)

    def _rung(self, before: Made | None, made: Made) -> None:
        with ui.element('li').classes('rung'):
            with ui.element('div').classes('rung-head'):
                Text('b', f'Version {made.number}')
                result(made.required)
                Text('span', f'own: {made.own.line}', 'muted small num')
                ui.element('span').classes('grow')
                if before and before.snapshot != made.snapshot:
                    change = button('What changed', icon='difference', kind='quiet small')
                    change.on('click', lambda: self._difference.compare(before.snapshot, made.snapshot))
                if made.seq:
                    go = button(f'Step {made.seq}', kind='quiet small num')
                    go.on('click', lambda: self._seek(made.seq))
            if made.merged:
                taken = ', '.join(f'{path} from {coder}' for path, coder in made.merged.items())
                Text('p', f'Merged: {taken}', 'small')
            self._answers(made.answers)

    def _answers(self, answers: Sequence[str]) -> None:
        if not answers:
            return
        Text('p', 'It answers', 'muted small')
        with ui.element('ul'):
            for answer in answers:
                Text('li', answer)

"""The head of the comparing page: which two runs, whether they went the same way, and where they part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import Comparison
from ui.parts import Text, attach, link
from ui.presenters.comparing import said_of, verdict
from ui.theme import button, pill


def address(a: str, b: str, at: int | None = None) -> str:
    """The page that compares two runs, at a row counted from 1."""
    return f'/compare?a={a}&b={b}{"" if at is None else f"&at={at}"}'


class Head:
    """Names, status and verdict."""

    def __init__(
        self, found: Comparison, choose: Callable[[str], Awaitable[None]], part: Callable[[], Awaitable[None]]
    ) -> None:
        """`choose` is asked for another run in the place of A or B; `part` goes to where they part."""
        self._pills: list[ui.element] = []
        self._links: list[ui.element] = []
        with ui.element('div').classes('run-head compare-head'):
            with ui.element('div').classes('run-name'):
                Text('h1', 'Compare two runs')
                with ui.element('div').classes('compare-runs'):
                    for name, tally in (('A', found.a), ('B', found.b)):
                        with ui.element('div').classes('compare-run'):
                            Text('span', name, f'side-mark side-{name.lower()}')
                            with link(f'/runs/{tally.info.id}', 'compare-title') as opened:
                                Text('span', tally.info.title or tally.info.id)
                            attach(opened, title=tally.info.title)
                            self._links.append(opened)
                            self._pills.append(ui.element('span'))
                            Text('span', tally.info.pattern, 'chip')
                            Text('span', tally.info.id, 'muted small mono')
                            change = button(
                                '', icon='find_replace', kind='quiet small', label=f'Choose another {name}'
                            )
                            change.on('click', lambda name=name: choose(name))
            with ui.element('div').classes('run-controls'):
                self._part = button('Go to where they part', icon='call_split', kind='primary')
                self._part.on('click', part)
                with link(address(found.b.info.id, found.a.info.id), 'btn'):
                    ui.icon('swap_horiz')
                    Text('span', 'Swap A and B')
        with ui.element('div').classes('compare-verdict').props('role="status"'):
            self._verdict = Text('p', '', 'compare-said')
            self._notes = Text('p', '', 'muted small')
        self.show(found)

    def show(self, found: Comparison) -> None:
        """Show what is known by now."""
        for place, tally in zip(self._pills, (found.a, found.b), strict=True):
            place.clear()
            with place:
                pill(tally.view.status)
        self._verdict.show(verdict(found))
        notes = ' '.join(said_of(found))
        self._notes.show(notes)
        self._notes.set_visibility(bool(notes))
        self._part.set_visibility(found.divergence is not None)

    def stand(self, a: int, b: int) -> None:
        """Let the links to both runs lead to these steps."""
        for opened, seq in zip(self._links, (a, b), strict=True):
            run = str(opened.props['href']).partition('?')[0]
            attach(opened, href=f'{run}?at={seq}' if seq else run)

"""One turn of a debate in its cell, and what stands under a round: how far the reviewers agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from ui.panes.verdict import stance
from ui.parts import Text
from ui.presenters.debates import Accord, Turn
from ui.presenters.words import count
from ui.theme import button

TRENDS = {
    'agreed': ('handshake', 'Agreed'),
    'closer': ('trending_up', 'Closer'),
    'same': ('trending_flat', 'No closer'),
    'apart': ('trending_down', 'Further apart'),
    '': ('compare_arrows', 'At the start'),
}
"""An icon and words for how agreement grows."""
UNFOLD = """(event) => {
  const button = event.currentTarget, open = button.closest('td').classList.toggle('whole');
  button.setAttribute('aria-expanded', open);
  button.lastElementChild.textContent = open ? 'Less' : 'More';
}"""


def draw(turn: Turn, link: Callable[[int], None]) -> None:
    """The position, the words, what is conceded and insisted on; `link` draws the way to a step."""
    said, position = turn.said, turn.position
    with ui.element('div').classes('turn human' if said.get('human') else 'turn'):
        with ui.element('div').classes('turn-head'):
            if said.get('human'):
                _chip('person', 'A person', 'strong person')
            if position:
                stance(position)
            if position.get('agrees'):
                _chip('check', 'Agrees', 'agrees')
        if said.get('problem'):
            Text('p', f'Said nothing: {said["problem"]}', 'turn-problem')
            return
        Text('p', str(said.get('text', '')), 'turn-text')
        _points(position, 'concedes', 'undo', 'Concedes')
        _points(position, 'insists', 'push_pin', 'Insists')
        with ui.element('div').classes('turn-more'):
            _points(position, 'changes', 'build', 'Asks for')
            _points(position, 'rests_on', 'fact_check', 'Rests on')
        with ui.element('div').classes('turn-foot'):
            more = button('More', icon='unfold_more', kind='quiet small').props('aria-expanded="false"')
            more.on('click', js_handler=UNFOLD)
            link(turn.seq)


def _chip(icon: str, text: str, kind: str) -> None:
    with ui.element('span').classes(f'chip {kind}'):
        ui.icon(icon).props('size="15px" aria-hidden="true"')
        ui.label(text)


def _points(position: Mapping[str, Any], name: str, icon: str, word: str) -> None:
    points = position.get(name)
    if not isinstance(points, (list, tuple)) or not points:
        return
    with ui.element('div').classes(f'points {name}'):
        ui.icon(icon).props('size="15px" aria-hidden="true"')
        with ui.element('div'):
            Text('b', word)
            with ui.element('ul'):
                for point in points:
                    Text('li', str(point))


def agreement(found: Accord | None) -> None:
    """A bar, an icon and words: how far they agree, and whether that grows."""
    if found is None:
        Text('span', 'not known yet', 'muted small')
        return
    icon, word = TRENDS[found.trend]
    with ui.element('div').classes(f'accord {found.trend or "first"}'):
        with ui.element('div').classes('accord-head'):
            ui.icon(icon).props('size="18px" aria-hidden="true"')
            Text('b', word)
            with ui.element('div').classes('accord-bar').props('aria-hidden="true"'):
                ui.element('div').style(f'width: {found.share:.0%}')
        facts = [
            'one verdict' if found.verdict else 'different verdicts',
            'one best' if found.best else 'different best',
            '' if found.ranked is None else f'{found.ranked:.0%} ranked alike',
            f'{count(found.conceded, "point")} conceded' if found.conceded else '',
        ]
        Text('span', ' · '.join(filter(None, facts)), 'muted small')

"""What a debate came to: the verdict, who agreed, what it asks for, and the tests it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from ui.parts import Text
from ui.presenters.contests import Made, Suite
from ui.presenters.debates import listed
from ui.presenters.reading import speaker

WORDS = {
    'APPROVE': ('verified', 'Approve'),
    'REVISE_BEST': ('edit_note', 'Revise the best'),
    'REVISE_ALL': ('rule', 'Revise all'),
    'UNDECIDED': ('help_outline', 'Undecided'),
}
"""An icon and words for each verdict."""


def stance(position: Mapping[str, Any]) -> None:
    """A verdict as a chip, with the candidate that it is about."""
    name = str(position.get('verdict', ''))
    icon, word = WORDS.get(name, ('help_outline', name.replace('_', ' ').capitalize()))
    best = str(position.get('best') or '')
    with ui.element('span').classes(f'chip stance {name.lower().replace("_", "-")}'):
        ui.icon(icon).props('size="16px" aria-hidden="true"')
        ui.label(f'{word}: {best}' if best else word)


def verdict(
    consensus: Mapping[str, Any], shown: Sequence[tuple[str, Made]], link: Callable[[], None]
) -> None:
    """The end of a debate.

    Args:
        consensus: the dump of a `Consensus`.
        shown: the version of each candidate that was there then, with what its tests gave.
        link: draws the way to the step.
    """
    synthesized = bool(consensus.get('synthesized'))
    by = [speaker(str(name)) for name in listed(consensus.get('by'))]
    with ui.element('div').classes('verdict synthesized' if synthesized else 'verdict'):
        with ui.element('div').classes('verdict-head'):
            ui.icon('call_merge' if synthesized else 'handshake').props('size="22px" aria-hidden="true"')
            Text('h3', 'No consensus: synthesized' if synthesized else 'Consensus')
            stance(consensus)
            ui.element('span').classes('grow')
            link()
        told = (
            'They did not agree. This was drawn from what they said, and cannot approve anything.'
            if synthesized
            else f'Agreed by {_joined(by)} in round {consensus.get("round")}.'
        )
        Text('p', told, 'muted')
        Text('p', str(consensus.get('text', '')), 'verdict-text')
        with ui.element('div').classes('verdict-parts'):
            _list('What it asks for', listed(consensus.get('changes')), 'Nothing more.')
            _list('What it rests on', listed(consensus.get('rests_on')), 'No fact was named.')
            if shown:
                with ui.element('div'):
                    Text('h4', 'Tests they were shown')
                    with ui.element('ul').classes('verdict-tests'):
                        for name, made in shown:
                            with ui.element('li'):
                                Text('b', f'{name} v{made.number}')
                                result(made.required)


def result(suite: Suite, what: str = '') -> None:
    """What tests gave: a mark, the counts, and the colour besides."""
    icon = 'check_circle' if suite.ok else 'cancel' if suite.broken else 'help_outline'
    kind = 'ok' if suite.ok else 'bad' if suite.broken else 'none'
    with ui.element('span').classes(f'suite {kind}'):
        ui.icon(icon).props('size="16px" aria-hidden="true"')
        if what:
            Text('span', what, 'muted')
        Text('span', suite.line, 'num')
        if suite.problem:
            ui.tooltip(suite.problem)


def _list(title: str, entries: Sequence[Any], nothing: str) -> None:
    with ui.element('div'):
        Text('h4', title)
        if not entries:
            Text('p', nothing, 'muted')
            return
        with ui.element('ul'):
            for entry in entries:
                Text('li', str(entry))


def _joined(names: Sequence[str]) -> str:
    return ' and '.join([', '.join(names[:-1]), names[-1]]) if len(names) > 1 else ''.join(names)

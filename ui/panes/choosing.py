"""What a person decides of candidates: which is taken, which files go into it, who wins a conflict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.textarea import Textarea

from engine import View
from ui.dialogs import framed, settled
from ui.panes.around import Around
from ui.panes.verdict import result
from ui.parts import Choice, Text, attach, label, text_area
from ui.presenters.contests import CHOICE, CONFLICTS, LIST, Entrant
from ui.presenters.debates import listed, record
from ui.theme import button


class Choosing:
    """The question at the head of the candidates; hidden while nobody is asked."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._asked: object = None
        self._picks: dict[str, Choice] = {}
        self.root = ui.element('section').classes('choosing').props('aria-label="Your decision"')
        self.root.set_visibility(False)

    def show(self, view: View, found: Sequence[Entrant], *, live: bool, mine: bool) -> None:
        """Ask, where the run waits for it. What was picked stays until it is another question."""
        asked = (view.waiting, tuple(view.active)) if live and mine and view.waiting in ASKS else None
        if asked == self._asked:
            return
        self._asked = asked
        self.root.clear()
        self.root.set_visibility(asked is not None)
        if asked is None:
            return
        with self.root:
            title, text = ASKS[view.waiting]
            with ui.element('div').classes('seat-head'):
                ui.icon('front_hand').props('size="20px" aria-hidden="true"')
                Text('h2', title)
            Text('p', text)
            match view.waiting:
                case name if name == LIST:
                    self._draw_files(_offers(view, found))
                case name if name == CONFLICTS:
                    self._draw_conflicts(view)

    async def confirm(self, entrant: Entrant) -> None:
        """Ask whether it is to be taken, and why; nothing is done before the answer."""
        with self.root, framed(f'Take {entrant.name}?') as dialog:
            if entrant.latest:
                result(entrant.latest.required, 'Required tests')
            Text('p', 'The run goes on with it.')
            field = _why()
            with ui.element('div').classes('dialog-actions'):
                stay = button('Not yet').on('click', lambda: dialog.submit(False))
                attach(stay, autofocus='')
                button('Take it', kind='primary').on('click', lambda: dialog.submit(True))
        if await settled(dialog):
            data = {'candidate': entrant.name, 'why': str(field.value or '').strip()}
            await self._around.send('choose', '', data)

    def _draw_files(self, offers: Mapping[str, Mapping[str, str]]) -> None:
        self._picks = self._choices(offers)
        why = _why()

        async def take() -> None:
            files = [{'path': path, 'coder': pick.value} for path, pick in self._picks.items() if pick.value]
            await self._around.send('take_files', '', {'files': files, 'why': str(why.value or '').strip()})

        with ui.element('div').classes('seat-actions'):
            button('Take these files', icon='merge', kind='primary').on('click', take)

    def _draw_conflicts(self, view: View) -> None:
        conflicts = map(record, listed(view.memory.get('file_conflicts')))
        offers = {
            str(one.get('path')): {str(coder): f'as {coder} has it' for coder in listed(one.get('coders'))}
            for one in conflicts
        }
        self._picks = self._choices(offers)

        async def settle() -> None:
            answers: dict[str, Any] = {path: pick.value for path, pick in self._picks.items()}
            await self._around.send('resolve', '', {'files': answers})

        with ui.element('div').classes('seat-actions'):
            button('Settle them', icon='check', kind='primary').on('click', settle)

    def _choices(self, offers: Mapping[str, Mapping[str, str]]) -> dict[str, Choice]:
        found = {}
        with ui.element('div').classes('file-picks'):
            for path, offered in offers.items():
                with ui.element('div').classes('file-pick'):
                    choice = Choice(offered, value=next(iter(offered), ''))
                    label(path, choice, 'label mono')
                found[path] = choice
        return found


ASKS = {
    CHOICE: (
        'Choose the implementation that the run goes on with',
        'Compare tests, files and differences, then take one. You are asked once more before it counts.',
    ),
    LIST: (
        'Choose the files that are taken into the best one',
        'All others stay as the best one has them. The tests run on what comes of it.',
    ),
    CONFLICTS: (
        'Two files stand against each other',
        'Say of each path whose file it is to be. The differences below show what they have.',
    ),
}
"""A question and what to know of it, by what the run waits for."""


def _offers(view: View, found: Sequence[Entrant]) -> dict[str, dict[str, str]]:
    """Per path that others have, and have otherwise than the best: from whom it can be taken."""
    best = next((entrant for entrant in found if entrant.picked), None)
    mine = best.latest.digests if best and best.latest else {}
    offers: dict[str, dict[str, str]] = {}
    for entrant in found:
        if entrant is best or not entrant.in_play or not entrant.latest:
            continue
        for path, digest in entrant.latest.digests.items():
            if mine.get(path) != digest:
                stays = f'as {best.name} has it' if best and path in mine else 'leave it out'
                offers.setdefault(path, {'': stays})[entrant.name] = f'from {entrant.name}'
    return offers


def _why() -> Textarea:
    with ui.element('div').classes('field'):
        head = Text('label', 'Why (optional)', 'label')
        field = text_area(maxlength='2000')
        attach(head, for_=field.html_id)
    return field

"""A person's decision on candidates: which one to use, which files to merge, how to resolve conflicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.textarea import Textarea

from engine.patterns import Conflict
from engine.records import View
from engine.statechart import read_leniently
from ui.web.components.dialogs import await_answer, dialog_frame
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, NativeSelect, Text, label, set_attributes, text_area
from ui.web.pages.run.pane import Moment
from ui.web.pages.run.review.contest import CHOICE, CONFLICTS, FILES, Contestant
from ui.web.pages.run.review.verdict import draw_deciding_tests
from ui.web.pages.shared.run.context import RunContext


class Decision:
    """The question above the candidates; hidden while there is none."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._picks: dict[str, NativeSelect] = {}
        self.root = CachedElement('choosing', 'section', aria_label='Your decision')
        self.root.set_visibility(False)

    def show(self, moment: Moment, candidates: Sequence[Contestant]) -> None:
        """Ask if the run is waiting for a decision. Selections stay until the question changes."""
        view = moment.view
        question = (
            (view.waiting, tuple(view.active)) if moment.may_answer and view.waiting in QUESTIONS else None
        )
        if not self.root.clear_if_changed(question):
            return
        self.root.set_visibility(question is not None)
        if question is None:
            return
        with self.root:
            title, text = QUESTIONS[view.waiting]
            with Box('seat-head'):
                ui.icon('front_hand', size='20px')
                Text('h2', title)
            Text('p', text)
            match view.waiting:
                case name if name == FILES:
                    self._draw_files(_offered_files(candidates))
                case name if name == CONFLICTS:
                    self._draw_conflicts(view)

    async def confirm(self, contestant: Contestant) -> None:
        """Confirm the choice, with a reason."""
        with self.root, dialog_frame(f'Choose {contestant.name}?') as dialog:
            if contestant.candidate.latest:
                draw_deciding_tests(contestant.candidate.latest)
            Text('p', 'The run continues with this implementation.')
            field = _draw_reason_field()
            with Box('dialog-actions'):
                button('Cancel', autofocus='').on('click', lambda: dialog.submit(False))
                button('Choose', kind='primary').on('click', lambda: dialog.submit(True))
        if await await_answer(dialog):
            data = {'candidate': contestant.name, 'why': str(field.value or '').strip()}
            await self._context.send('choose', '', data)

    def _draw_files(self, offers: Mapping[str, Mapping[str, str]]) -> None:
        self._picks = self._draw_choices(offers)
        why = _draw_reason_field()

        async def take_files() -> None:
            files = [{'path': path, 'coder': pick.value} for path, pick in self._picks.items() if pick.value]
            await self._context.send('take_files', '', {'files': files, 'why': str(why.value or '').strip()})

        with Box('seat-actions'):
            button('Merge these files', icon='merge', kind='primary').on('click', take_files)

    def _draw_conflicts(self, view: View) -> None:
        conflicts = read_leniently(list[Conflict], view.memory.get('file_conflicts'))
        offers = {
            conflict.path: {coder: f'version of {coder}' for coder in conflict.coders}
            for conflict in conflicts
        }
        self._picks = self._draw_choices(offers)

        async def settle() -> None:
            answers: dict[str, Any] = {path: pick.value for path, pick in self._picks.items()}
            await self._context.send('resolve', '', {'files': answers})

        with Box('seat-actions'):
            button('Resolve', icon='check', kind='primary').on('click', settle)

    def _draw_choices(self, offers: Mapping[str, Mapping[str, str]]) -> dict[str, NativeSelect]:
        choices = {}
        with Box('file-picks'):
            for path, offered in offers.items():
                with Box('file-pick'):
                    choice = NativeSelect(offered, value=next(iter(offered), ''))
                    label(path, choice, 'label mono')
                choices[path] = choice
        return choices


QUESTIONS = {
    CHOICE: (
        'Choose an implementation',
        'Compare tests, files and differences, then choose one. You confirm before it counts.',
    ),
    FILES: (
        'Choose files to merge into the best implementation',
        'All other files stay as in the best one. The tests then run on the result.',
    ),
    CONFLICTS: ('Conflicting files', 'Choose a version for each path. The differences are shown below.'),
}
"""Title and explanation of a question, by the `waiting` of the run."""


def _offered_files(candidates: Sequence[Contestant]) -> dict[str, dict[str, str]]:
    """Return the versions that can be merged for each path that differs from the best candidate's."""
    best = next((contestant for contestant in candidates if contestant.picked), None)
    mine = best.digests if best else {}
    offers: dict[str, dict[str, str]] = {}
    for contestant in candidates:
        if contestant is best or not contestant.candidate.in_play:
            continue
        for path, digest in contestant.digests.items():
            if mine.get(path) != digest:
                stays = f'version of {best.name}' if best and path in mine else 'leave out'
                offers.setdefault(path, {'': stays})[contestant.name] = f'from {contestant.name}'
    return offers


def _draw_reason_field() -> Textarea:
    with Box('field'):
        head = Text('label', 'Reason (optional)', 'label')
        field = text_area(maxlength='2000')
        set_attributes(head, for_=field.html_id)
    return field

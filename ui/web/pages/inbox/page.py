"""The inbox: all questions of all runs, oldest first, and a page for each to link to."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from ui.app.backend import Backend
from ui.app.services.inbox import InboxItem, QuestionClosed
from ui.app.services.inbox.questions import run_and_step
from ui.formatting.values import count
from ui.web.components.theme import button, empty_state, frame, notice, page_head
from ui.web.components.widgets import (
    Box,
    CachedElement,
    Text,
    draw_changes,
    label,
    set_attributes,
    text_input,
    text_link,
)
from ui.web.pages.inbox.card import QuestionCard
from ui.web.pages.shared.to_mark import ToMark, find_unmarked
from ui.web.permission import is_permitted
from ui.web.routing import serve_page

MARKING_SECONDS = 20.0
"""Seconds between looks for answers to mark."""
POLL_SECONDS = 1.0
"""Polling interval in seconds."""


def register(backend: Backend) -> None:
    """Serve `/inbox` and `/inbox/{question}`."""

    @serve_page('/inbox', 'Inbox')
    async def inbox() -> None:
        with frame(here='/inbox'):
            page_head('Inbox', 'Everything that is waiting for a person, oldest first.')
            questions = Questions(backend)
        await questions.refresh()
        ui.timer(0, questions.find_to_mark, once=True)
        ui.timer(MARKING_SECONDS, questions.find_to_mark, immediate=False)
        ui.timer(POLL_SECONDS, questions.refresh, immediate=False)

    @serve_page('/inbox/{ask}')
    async def question(ask: str) -> None:
        with frame('Question', here='/inbox'):
            text_link('/inbox', '← Inbox', 'back small')
            place = Box('ghost')

        async def draw() -> None:
            place.clear()
            with place:
                try:
                    item = await backend.services.inbox.find(ask)
                except EngineError as error:
                    _draw_closed(ask, error)
                else:
                    QuestionCard(backend, item, draw, own_page=True)

        await draw()


def _draw_closed(ask: str, error: EngineError) -> None:
    """Draw the page of a question that is closed or unknown, with the reason."""
    with notice('info', 'check' if isinstance(error, QuestionClosed) else 'help'):
        if isinstance(error, QuestionClosed):
            Text('h1', 'This question is closed', 'notice-title')
            Text('p', f'{str(error).rpartition(": ")[2].capitalize()}. Nothing is left to answer.')
            run, step = run_and_step(ask)
            text_link(f'/runs/{run}?at={step}', 'Open the run at this question', 'btn small')
        else:
            Text('h1', 'No such question', 'notice-title')
            Text('p', 'The link is incomplete, or the run has been removed.')


class Questions:
    """The list, with its filters; a card is redrawn only when its question changes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._cards: dict[str, QuestionCard] = {}
        self._drawn: dict[str, tuple[InboxItem, ui.element]] = {}
        self._snoozed = False
        with Box('filters inbox-filters'):
            self._person = text_input('', placeholder='Anyone')
            label('Assigned to', self._person)
            self._person.on_value_change(self.refresh)
            self._all = button('Show snoozed', kind='small').on('click', self._show_snoozed)
            set_attributes(self._all, aria_pressed='false')
            Box('grow', 'span')
            notify = button('Notify me in this browser', kind='small notify-here')
            notify.on('click', js_handler='() => window.hemicycleToggleNotifications?.()')
            if is_permitted('destinations.list'):
                text_link('/notifications', 'Notifications', 'btn small')
        self._to_mark = ToMark()
        self._list = Box('question-list', 'section', aria_label='Questions', data_redrawn=True)
        self._none = CachedElement('ghost')

    async def refresh(self) -> None:
        """Bring the list up to date."""
        try:
            page = await self._backend.services.inbox.list(
                assignee=' '.join(str(self._person.value or '').split()), snoozed=self._snoozed
            )
        except EngineError as error:
            ui.notify(str(error), type='negative', close_button='Close')
            return
        self._all.set_visibility(self._snoozed or bool(page.snoozed))
        now = self._backend().clock.now()
        draw_changes(self._list, self._drawn, {item.ask.id: item for item in page.items}, self._draw)
        self._cards = {ask: self._cards[ask] for ask in self._drawn}
        for card in self._cards.values():
            card.tick(now)
        if self._none.clear_if_changed(page.items) and not page.items:
            with self._none:
                words = f'Nothing is waiting for you; {count(page.snoozed, "question")} snoozed.'
                empty_state('check', words if page.snoozed else 'Nothing is waiting for you.')

    async def find_to_mark(self) -> None:
        """Show the experiments with answers that the caller has not marked."""
        to_mark = await find_unmarked(self._backend())
        if not self._list.is_deleted:
            self._to_mark.show(to_mark)
            self._none.set_visibility(not to_mark)

    def _draw(self, item: InboxItem) -> ui.element:
        card = self._cards[item.ask.id] = QuestionCard(self._backend, item, self.refresh)
        return card.root

    async def _show_snoozed(self) -> None:
        self._snoozed = not self._snoozed
        set_attributes(self._all, aria_pressed=str(self._snoozed).lower())
        await self.refresh()

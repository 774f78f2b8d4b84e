"""The notifications page: destinations and the delivery log."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from ui.components.dialogs import notify_errors
from ui.components.theme import button, empty_state, frame, page_head, section_head
from ui.components.widgets import Box, CachedElement, NativeSelect, Text, link, set_attributes
from ui.formatting.values import ago, count, exact
from ui.pages.notifications.destinations import DestinationList
from ui.services.notifications import OutboxMessage
from ui.web.backend import Backend
from ui.web.permission import refusal
from ui.web.routing import serve_page

POLL_SECONDS = 2.0
MAX_MESSAGES = 100
STATES = {'': 'All', 'due': 'Pending', 'sent': 'Sent', 'failed': 'Failed'}
PILLS = {'due': ('Pending', 'waiting'), 'sent': ('Sent', 'done'), 'failed': ('Failed', 'failed')}


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/notifications')
    async def notifications() -> None:
        with frame('Notifications', here='/inbox'):
            summary = 'Who is notified when a run waits, ends, fails or nears its budget.'
            page_head('Notifications', summary, back=('/inbox', 'Inbox'))
            if why := refusal('destinations.list'):
                empty_state('lock', f'{why}.')
                return
            destinations, log = DestinationList(backend), MessageLog(backend)
        await destinations.load()
        await log.refresh()
        ui.timer(POLL_SECONDS, log.refresh, immediate=False)


class MessageLog:
    """The delivery log, newest first."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        with Box('section', 'section', aria_labelledby='sent'):
            with section_head('Delivery log', 'sent'):
                self._state = NativeSelect(STATES, value='', on_change=self.refresh)
                set_attributes(self._state, aria_label='State')
            self._place = CachedElement('ghost', data_redrawn=True)

    async def refresh(self) -> None:
        """Bring the list up to date."""
        service = self._backend.services.notifications
        try:
            messages = await service.log(state=self._state.value or '', limit=MAX_MESSAGES)
            names = {destination.id: destination.name for destination in await service.destinations.list()}
        except EngineError:
            return  # the rest of the page reports it
        if not self._place.clear_if_changed((messages, names)):
            return
        with self._place:
            if not messages:
                empty_state('send', 'Nothing has been sent yet.')
                return
            with Box('card rows', 'ul'):
                for message in messages:
                    with Box(tag='li'):
                        self._draw(message, names.get(message.destination, 'a removed destination'))

    def _draw(self, message: OutboxMessage, name: str) -> None:
        word, kind = PILLS[message.state]
        Text('span', word, f'pill {kind}')
        now = self._backend().clock.now()
        with Box('row-summary'):
            if message.run:
                with link(f'/runs/{message.run}?at={message.step}'):
                    Text('b', message.text)
            else:
                Text('b', message.text)
            Text('span', f'{message.title} · to {name}', 'muted small')
            tries = message.attempts
            if tries and tries[-1].error:
                later = f'; next try at {exact(message.at)}' if message.state == 'due' else ''
                Text('span', f'{count(len(tries), "attempt")}, the last: {tries[-1].error}{later}', 'problem')
        Text('span', ago(message.created, now), 'muted small', title=exact(message.created))
        with Box('row-actions'):
            again = button('Send again', kind='small').on('click', lambda: self._resend(message))
            set_attributes(again, aria_label=f'Send again: {message.text} ({message.title})')

    async def _resend(self, message: OutboxMessage) -> None:
        if await notify_errors(self._backend.services.notifications.resend(message.id)):
            ui.notify('Queued again.', type='positive')
        await self.refresh()

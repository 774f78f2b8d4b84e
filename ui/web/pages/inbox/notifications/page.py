"""The notifications page: destinations and the delivery log."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui
from typing_extensions import override

from ui.app.backend import Backend
from ui.app.services.notifications import OutboxMessage
from ui.formatting.values import ago, count, exact
from ui.web.components.theme import empty_state, frame, page_head
from ui.web.components.widgets import Box, NativeSelect, Text, link, set_attributes
from ui.web.pages.inbox.notifications.destinations import DestinationList
from ui.web.pages.shared.resource_list import RowList
from ui.web.permission import refusal
from ui.web.routing import serve_page

POLL_SECONDS = 2.0
MAX_MESSAGES = 100
STATES = {'': 'All', 'due': 'Pending', 'sent': 'Sent', 'failed': 'Failed'}
PILLS = {'due': ('Pending', 'running'), 'sent': ('Sent', 'done'), 'failed': ('Failed', 'failed')}


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/notifications', 'Notifications')
    async def notifications() -> None:
        with frame(here='/inbox'):
            summary = 'Who is notified when a run waits, ends, fails or nears its budget.'
            page_head('Notifications', summary, back=('/inbox', 'Inbox'))
            if why := refusal('destinations.list'):
                empty_state('lock', f'{why}.')
                return
            destinations, log = DestinationList(backend), MessageLog(backend)
        await destinations.refresh()
        await log.refresh()
        ui.timer(POLL_SECONDS, log.refresh, immediate=False)


class MessageLog(RowList):
    """The delivery log, newest first."""

    PART, ID = 'destinations', 'sent'
    TITLE, EMPTY, ICON = 'Delivery log', 'Nothing has been sent yet.', 'send'

    @override
    def draw_controls(self) -> None:
        self._state = NativeSelect(STATES, value='', on_change=self.refresh)
        set_attributes(self._state, aria_label='State')

    @override
    async def read(self) -> Sequence[tuple[OutboxMessage, str]]:
        service = self.backend.services.notifications
        messages = await service.log(state=self._state.value or '', limit=MAX_MESSAGES)
        names = {destination.id: destination.name for destination in await service.destinations.list()}
        return [(message, names.get(message.destination, 'a removed destination')) for message in messages]

    @override
    def draw(self, item: tuple[OutboxMessage, str]) -> None:
        message, name = item
        word, kind = PILLS[message.state]
        Text('span', word, f'pill {kind}')
        now = self.backend().clock.now()
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
        about = f'{message.text} ({message.title})'
        self.draw_actions(about, {'Send again': lambda: self._resend(message)})

    async def _resend(self, message: OutboxMessage) -> None:
        await self.backend.services.notifications.resend(message.id)
        ui.notify('Queued again.', type='positive')

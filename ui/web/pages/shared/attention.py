"""Requests that wait for a person, in any run: counted on every page, and answered in place."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from engine import EngineError
from engine.operations.experiments import Unmarked
from engine.records import RunId, clip
from ui.app.backend import Backend
from ui.app.services.inbox import InboxItem, question_path
from ui.formatting.values import count
from ui.web.components.dialogs import notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, draw_changes, link, set_attributes, text_link
from ui.web.pages.shared.to_mark import find_unmarked, mark_path

POLL_SECONDS = 1.0
"""Polling interval in seconds, shared by all pages of a caller."""
MARKING_SECONDS = 10.0
"""Seconds between looks for answers to mark."""
MAX_REQUESTS = 20
MAX_ARGUMENTS = 120
"""Maximum characters shown of a call's arguments."""
MINUTES = 5
SHOW_COUNT_IN_TITLE = """const bare = document.title.replace(/^\\(\\d+\\) /, "");
document.title = %d ? `(%d) ${bare}` : bare;"""
NOTIFY_NEW = 'window.hemicycleNotifyNew?.(%s)'
"""Shows browser notifications, if the user has turned them on."""


@dataclass(frozen=True, slots=True)
class Request:
    """What one run waits for a person to do."""

    id: str
    digest: str
    run: RunId
    title: str
    text: str
    leaf: str = ''
    """The state that waits for an approval; '' if it is something else."""
    calls: str = ''
    """The arguments of the calls to approve, on one line."""
    out_of_time: bool = False


class Attention:
    """The requests that one caller may see; one poll a second serves all the caller's pages."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._last_refresh = self._last_count = 0.0
        self.unmarked: Sequence[Unmarked] = ()
        """Experiments with answers to mark."""
        self.requests: Sequence[Request] = ()
        """The oldest ones, at most `MAX_REQUESTS`."""
        self.total = 0
        """How many requests there are, and answers to mark."""

    async def refresh(self) -> None:
        """Refresh the requests, unless that was done less than half an interval ago."""
        now = self._backend().clock.now()
        if now - self._last_refresh < POLL_SECONDS / 2:
            return
        self._last_refresh = now
        if now - self._last_count >= MARKING_SECONDS:
            self._last_count = now
            self.unmarked = await find_unmarked(self._backend())
        try:
            page = await self._backend.services.inbox.list()
        except EngineError:
            return  # the list of runs reports it
        self.total = len(page.items) + sum(item.left for item in self.unmarked)
        self.requests = [_to_request(item) for item in page.items[:MAX_REQUESTS]]

    async def answer(self, request: Request, name: str) -> None:
        """Allow or deny a call (`approve`, `deny`), or give a run more time (`extend`)."""
        data = {'seconds': 60 * MINUTES} if name == 'extend' else {}
        inbox = self._backend.services.inbox
        await notify_errors(inbox.answer(request.id, name, data, digest=request.digest))
        self._last_refresh = 0.0

    def draw(self) -> None:
        """Draw the navigation's counter and the list that it opens."""
        with button('', icon='front_hand', kind='attention').classes(remove='icon') as opener:
            words, number = Text('span', '', 'wide-only'), Text('span', '', 'narrow-only')
            with (
                ui.menu()
                .classes('popover')
                .props('role="dialog" anchor="bottom right" self="top right"') as box
            ):
                set_attributes(box, aria_label='Needs you')
                requests = RequestList(self)
                text_link('/inbox', 'Open the inbox', 'requests-all')
        set_attributes(opener, aria_haspopup='dialog')
        opener.set_visibility(False)
        shown_total, notified = 0, ''

        def show() -> None:
            nonlocal shown_total, notified
            requests.show()
            asks = json.dumps(
                [
                    [request.id, request.text, request.title, question_path(request.id)]
                    for request in self.requests
                ]
            )
            if asks != notified:
                notified = asks
                ui.run_javascript(NOTIFY_NEW % asks)
            if self.total != shown_total:
                shown_total = self.total
                opener.set_visibility(bool(shown_total))
                words.show(f'Needs you ({shown_total})')
                number.show(str(shown_total))
                set_attributes(opener, aria_label=f'Needs you ({shown_total})')
                ui.run_javascript(SHOW_COUNT_IN_TITLE % (shown_total, shown_total))

        async def refresh() -> None:
            await self.refresh()
            show()

        show()  # requests that another page has just loaded
        ui.timer(POLL_SECONDS, refresh, immediate=False)  # an immediate timer would send the page half-drawn


class AttentionFeed:
    """One `Attention` for each caller, since not everyone may see requests of private runs."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._by_caller: dict[str, Attention] = {}

    def __call__(self) -> Attention:
        """Return the requests that the current caller may see."""
        return self._by_caller.setdefault(self._backend.caller.name, Attention(self._backend))


class RequestList:
    """Requests with their answers; each is redrawn only when it changes."""

    def __init__(self, attention: Attention, on_change: Callable[[int], None] = lambda count: None) -> None:
        self._attention, self._on_change = attention, on_change
        self._shown: Sequence[Request | Unmarked] | None = None
        self._drawn: dict[str, tuple[Request | Unmarked, ui.element]] = {}
        self._list = Box('requests', 'ul', data_redrawn=True)

    def show(self) -> None:
        """Redraw the requests that changed."""
        waiting: list[Request | Unmarked] = [*self._attention.requests, *self._attention.unmarked]
        if waiting == self._shown:
            return
        self._shown = waiting
        by_id = {item.id if isinstance(item, Request) else item.experiment: item for item in waiting}
        draw_changes(self._list, self._drawn, by_id, self._draw)
        self._on_change(self._attention.total)

    def _draw(self, item: Request | Unmarked) -> ui.element:
        return self._draw_request(item) if isinstance(item, Request) else self._draw_unmarked(item)

    @staticmethod
    def _draw_unmarked(item: Unmarked) -> ui.element:
        with Box('request', 'li', data_ask=item.experiment) as element:
            with link(f'/experiments/{item.experiment}', 'request-summary'):
                Text('b', f'Mark {count(item.left, "answer")}')
                Text('span', item.name, 'muted', dir='auto')
            text_link(mark_path(item.experiment), 'Mark', 'btn small')
        return element

    def _draw_request(self, request: Request) -> ui.element:
        with Box('request', 'li', data_ask=request.id) as element:
            with link(f'/runs/{request.run}', 'request-summary'):
                Text('b', request.text)
                Text('span', request.title, 'muted')
                if request.calls:
                    Text('code', request.calls)
            if request.leaf:
                self._draw_answer(request, 'Allow', 'approve', 'primary')
                self._draw_answer(request, 'Deny', 'deny', '')
            elif request.out_of_time:
                self._draw_answer(request, f'Add {MINUTES} min', 'extend', 'primary')
            else:
                text_link(f'/runs/{request.run}', 'Open', 'btn small')
        return element

    def _draw_answer(self, request: Request, text: str, name: str, kind: str) -> None:
        action_button = button(text, kind=f'small {kind}', requires='inbox.answer')
        set_attributes(action_button, aria_label=f'{text}: {request.text} ({request.title})')

        async def answer() -> None:
            action_button.props('disabled')
            await self._attention.answer(request, name)
            await self._attention.refresh()
            self.show()

        action_button.on('click', answer)


def _to_request(item: InboxItem) -> Request:
    ask = item.ask
    return Request(
        ask.id,
        ask.digest,
        ask.run,
        item.title,
        ask.text,
        leaf=ask.at if ask.calls and item.here else '',
        calls='; '.join(_shorten_arguments(call.arguments) for call in ask.calls),
        out_of_time='extend' in ask.events and item.here,
    )


def _shorten_arguments(arguments: str) -> str:
    try:
        parsed = json.loads(arguments or '{}')
        text = ', '.join(f'{name}: {value}' for name, value in parsed.items())
    except (ValueError, AttributeError, RecursionError):
        text = arguments
    return clip(' '.join(text.split()), MAX_ARGUMENTS)

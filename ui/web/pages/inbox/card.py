"""The card of a question: its text, answers, assignee and snoozing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel

from engine import EngineError
from engine.records import clip
from ui.app.backend import Backend
from ui.app.services.inbox import InboxItem, question_path
from ui.formatting.steps import role_title
from ui.formatting.values import ago, exact
from ui.web.components.dialogs import ask_event, event_help, notify_errors
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, set_attributes, text_input, text_link
from ui.web.pages.shared.run.approval import Approval
from ui.web.pages.shared.run.question import QuestionForm
from ui.web.permission import is_permitted

MINUTES = 5
SNOOZE_OPTIONS = {
    '': 'Snooze…',
    '3600': 'For 1 hour',
    '14400': 'For 4 hours',
    '86400': 'For 1 day',
    '604800': 'For 1 week',
}
MAX_MESSAGE = 1_500


class QuestionCard:
    """One question; `on_change` is called after it is answered, assigned or snoozed."""

    def __init__(
        self,
        backend: Backend,
        item: InboxItem,
        on_change: Callable[[], Awaitable[None]],
        *,
        own_page: bool = False,
    ) -> None:
        """Draw the card; `own_page` is for the page of a single question."""
        self._backend, self._item, self._on_change = backend, item, on_change
        ask = item.ask
        now = backend().clock.now()
        with Box('card ask', 'article') as self.root:
            set_attributes(self.root, aria_label=f'{ask.text} ({item.title})', data_ask=ask.id)
            with Box('ask-head'):
                with Box('ask-summary'):
                    if own_page:
                        Text('h1', ask.text)
                    else:
                        with Text('h2', ''):
                            text_link(question_path(ask.id), ask.text)
                    with Box('ask-context muted', 'p'):
                        text_link(f'/runs/{ask.run}', item.title)
                        Text('span', item.pattern, 'chip')
                        self._age = Text('span', ago(ask.since, now), title=exact(ask.since))
                        Text('span', f'step {ask.step}', 'num')
                self._draw_assignment()
            if ask.said:
                with Box('more-text', 'details').props('open' if own_page else ''):
                    Text('summary', 'Agent’s message')
                    Text('p', clip(ask.said, MAX_MESSAGE), 'ask-message')
            self._draw_answers()

    def tick(self, now: float) -> None:
        """Update the age."""
        self._age.show(ago(self._item.ask.since, now))

    def _draw_assignment(self) -> None:
        """Draw the assignee and the snooze menu."""
        if not is_permitted('inbox.assign'):
            if self._item.assignee:
                Text('span', f'Assigned to {self._item.assignee}', 'muted')
            return
        with Box('ask-decision'):
            who = text_input(
                self._item.assignee, placeholder='Assign to…', aria_label='Assigned to', maxlength='200'
            )
            who.on('change', lambda: self._assign(str(who.value or '')))
            if self._item.snoozed_until > self._backend().clock.now():
                button('Unsnooze', kind='small', requires='inbox.snooze').on(
                    'click', lambda: self._snooze(0.0)
                )
            else:
                put_off = NativeSelect(SNOOZE_OPTIONS, value='')
                set_attributes(put_off, aria_label='Snooze')
                put_off.on_value_change(lambda: self._snooze(float(put_off.value or 0)))

    def _draw_answers(self) -> None:
        ask = self._item.ask
        if not self._item.here:
            Text('p', 'Another process executes this run: answer it there.', 'muted')
            return
        if ask.calls:
            Approval(self._approve, self._backend().catalog.tools).show(
                ask.text.removeprefix('Allow ').partition(' to use ')[0],
                ask.at,
                [{'id': call.id, 'name': call.name, 'arguments': call.arguments} for call in ask.calls],
            )
            return
        if ask.question:
            QuestionForm(lambda at, data: self._send('answer', data)).show(ask.at, ask.question)
            return
        inputs = self._inputs()
        with Box('approval-answers ask-answers'):
            for number, event in enumerate(ask.events):
                kind = 'primary' if number == 0 else ''
                if event == 'extend':
                    answer_button = button(f'Add {MINUTES} min', kind=kind, requires='inbox.answer')
                    answer_button.on('click', lambda: self._answer('extend', {'seconds': 60 * MINUTES}))
                    continue
                answer_button = button(role_title(event), kind=kind, requires='inbox.answer')
                answer_button.on('click', lambda _, event=event: self._ask(event, inputs.get(event)))
                if help_text := event_help(inputs.get(event)):
                    answer_button.tooltip(help_text)
            text_link(f'/runs/{ask.run}', 'Open the run', 'btn quiet')

    def _inputs(self) -> Mapping[str, type[BaseModel]]:
        try:
            return self._backend().catalog.pattern_of(self._item).inputs
        except EngineError:
            return {}  # its pattern no longer exists

    async def _ask(self, event: str, model: type[BaseModel] | None) -> None:
        """Ask for the values of an event, if it takes any, and answer with them."""
        if model is None or not model.model_fields:
            await self._answer(event, {})
            return
        await ask_event(event, model, lambda data: self._send(event, data))

    async def _approve(self, name: str, leaf: str, data: dict[str, Any]) -> None:
        await self._answer(name, data)

    async def _answer(self, event: str, data: Mapping[str, Any]) -> None:
        """Answer, or show why that failed."""
        await notify_errors(self._send(event, data))

    async def _send(self, event: str, data: Mapping[str, Any]) -> None:
        ask = self._item.ask
        try:
            await self._backend.services.inbox.answer(ask.id, event, data, digest=ask.digest)
        finally:
            await self._on_change()

    async def _assign(self, name: str) -> None:
        await notify_errors(self._backend.services.inbox.assign(self._item.ask.id, name))
        await self._on_change()

    async def _snooze(self, seconds: float) -> None:
        until = self._backend().clock.now() + seconds if seconds else 0.0
        await notify_errors(self._backend.services.inbox.snooze(self._item.ask.id, until))
        await self._on_change()

"""Messages between agents: filters, a list and a sequence diagram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nicegui import ui

from engine.records import View, clip
from ui.components.elements import Conversation, MessageList
from ui.components.theme import button
from ui.components.widgets import NativeSelect, Text, label, text_input
from ui.formatting.plain_markdown import plain_markdown_line
from ui.formatting.steps import duration, role_title
from ui.formatting.tool_calls import logged_call
from ui.formatting.values import exact
from ui.pages.run.panels.panel import LazyPanel, PanelSetup
from ui.replay.history import Position

ANY = {'': 'Any'}
FORMS = (('list', 'List', 'view_list'), ('sequence', 'Sequence diagram', 'swap_horiz'))


class Messages(LazyPanel):
    """All messages of a run; those after the step that is shown are dimmed."""

    title = 'Messages'
    layout = 'flat'

    def __init__(self, setup: PanelSetup) -> None:
        super().__init__(setup)
        self._field = setup.context.shape.field('messages')
        self._follower, self._seek, self._on_filter = setup.follower, setup.seek, setup.show_address
        self.filter = wanted = MessageFilter.from_query(setup.query)
        self._messages: list[Message] = []
        self._drawn: object = None
        self._seq = 0
        with ui.element('div').classes('messages'):
            self._draw_filters(wanted)
            self._list = MessageList('list', label='Messages', on_pick=self._pick, on_go=self._go_to_step)
            self._none = Text('p', '', 'messages-none muted', role='status')
            with (
                ui.element('section')
                .classes('message-open')
                .props('aria-label="Message" tabindex="0"') as self._detail
            ):
                with ui.element('div').classes('message-open-head'):
                    with ui.element('div').classes('grow'):
                        self._title = Text('h2', '')
                        self._facts = Text('p', '', 'muted small num')
                    self._go = button('Go to step', icon='my_location', kind='small')
                    self._go.on('click', lambda: self._seek(self._seq))
                    close = button('', icon='close', kind='quiet small', label='Close')
                    close.on('click', lambda: self._detail.set_visibility(False))
                self._text = Conversation([], label='Content', follow=False)
            self._detail.set_visibility(False)

    def _draw_filters(self, wanted: MessageFilter) -> None:
        with ui.element('div').classes('messages-filters').props('role="search" aria-label="Messages"'):
            self._sender = self._draw_choice('From', wanted.sender)
            self._recipient = self._draw_choice('To', wanted.recipient)
            self._type = self._draw_choice('Type', wanted.type)
            with ui.element('div').classes('messages-filter text'):
                self._words = text_input(wanted.text, kind='search', placeholder='Contains')
                self._words.props('debounce=200')
                label('Contains', self._words, 'visually-hidden')
                self._words.on_value_change(lambda _: self._on_change())
            with ui.element('div').classes('messages-forms').props('role="group" aria-label="Show as"'):
                self._forms = {
                    form: self._draw_layout_button(form, title, icon) for form, title, icon in FORMS
                }
            self._count = Text('span', '', 'muted small num', role='status')

    def _draw_choice(self, name: str, value: str) -> NativeSelect:
        with ui.element('div').classes('messages-filter'):
            choice = NativeSelect(ANY, value=value, on_change=self._on_change)
            label(name, choice, 'muted small')
        return choice

    def _draw_layout_button(self, form: str, title: str, icon: str) -> ui.element:
        made = button('', icon=icon, kind='quiet', label=title)
        made.props(f'aria-pressed="{str(form == "list").lower()}"')
        made.on('click', lambda: self._show_as(form))
        return made

    def _show_as(self, form: str) -> None:
        for name, made in self._forms.items():
            made.props(f'aria-pressed="{str(name == form).lower()}"')
        self._list.set_layout('sequence' if form == 'sequence' else 'list')

    @property
    def query(self) -> Mapping[str, str]:
        """The filter as parameters of the address."""
        return self.filter.query

    def fill(self, view: View) -> None:
        """Send the newest messages to the page, positioned at the step of `view`."""
        fold, steps = self._follower.fold, self._follower.index.history.appended_to(self._field)
        memory = fold.view.memory if fold.projection.seq else view.memory
        found = memory.get(self._field)
        many = len(found) if isinstance(found, list) else 0
        if (many, len(steps), self.filter) != self._drawn:
            self._drawn = (many, len(steps), self.filter)
            self._messages = messages_of(found, steps)
            self._show_list(fold.projection.started or view.started)
        self._list.show_step(view.seq)

    def _show_list(self, started: float) -> None:
        messages = self._messages
        for choice, names in (
            (self._sender, {one.sender for one in messages}),
            (self._recipient, {one.recipient for one in messages}),
        ):
            choice.set_options(ANY | {name: name.replace('_', ' ') for name in sorted(names)})
        self._type.set_options(
            ANY | {name: type_text(name) for name in sorted({one.type for one in messages})}
        )
        shown = [one for one in messages if self.filter.matches(one)]
        self._list.show([one.row(started) for one in shown], parties(shown))
        self._count.show(f'{len(shown)} of {len(messages)}' if messages else '')
        self._none.show('' if shown else 'No messages match.' if messages else 'No messages yet.')
        self._none.set_visibility(not shown)
        self._list.set_visibility(bool(shown))

    def _on_change(self) -> None:
        self.filter = MessageFilter(
            sender=self._sender.value,
            recipient=self._recipient.value,
            type=self._type.value,
            text=str(self._words.value or ''),
        )
        self.refresh()
        self._on_filter()

    async def _go_to_step(self, number: int) -> None:
        if 0 < number <= len(self._messages) and (seq := self._messages[number - 1].seq):
            await self._seek(seq)

    def _pick(self, number: int) -> None:
        if not 0 < number <= len(self._messages):
            return
        one = self._messages[number - 1]
        facts = [type_text(one.type), *([exact(one.time)] if one.time else [])]
        facts += [f'step {one.seq} of the run'] if one.seq else []
        facts += [f'about step {one.about} of the plan'] if one.about else []
        self._seq = one.seq
        self._go.set_visibility(bool(one.seq))
        self._title.show(f'{role_title(one.sender)} to {role_title(one.recipient)}')
        self._facts.show(' · '.join(facts))
        self._text.show([{'kind': 'text', 'text': one.content or '(empty)'}])
        self._detail.set_visibility(True)


MAX_ROW_LENGTH = 220
"""Characters of a message sent for its row; the rest is loaded when it is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message; `number` counts from 1."""

    number: int
    sender: str
    recipient: str
    type: str
    content: str
    seq: int = 0
    """The step that added it; 0 while unknown."""
    time: float = 0.0
    about: str = ''
    """The step of the plan that it refers to."""

    def row(self, started: float) -> list[Any]:
        """Return the row that is sent to the browser."""
        clock = duration(self.time - started) if self.time and started else ''
        return [
            self.number,
            self.seq,
            clock,
            self.sender,
            self.recipient,
            self.type,
            clip(plain_markdown_line(self.content[: 4 * MAX_ROW_LENGTH]), MAX_ROW_LENGTH),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """Which messages are shown; '' matches any."""

    sender: str = ''
    recipient: str = ''
    type: str = ''
    text: str = ''

    @classmethod
    def from_query(cls, given: Mapping[str, str]) -> MessageFilter:
        """Read a filter from the parameters of an address."""
        return cls(**{name: str(given.get(name, ''))[:200] for name in cls.__slots__})

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the address; empty ones are left out."""
        return {name: value for name, value in asdict(self).items() if value}

    def matches(self, message: Message) -> bool:
        """Return whether a message is shown."""
        exact = all(
            wanted in ('', getattr(message, name))
            for name, wanted in (('sender', self.sender), ('recipient', self.recipient), ('type', self.type))
        )
        return exact and (not self.text or self.text.strip().casefold() in message.content.casefold())


def messages_of(value: Any, steps: Sequence[Position] = ()) -> list[Message]:
    """Return the messages in a field of memory, dropping anything malformed.

    Args:
        value: the value of that field in a view.
        steps: the step that added each of them, as far as the history has been read.
    """
    found = []
    for number, item in enumerate(value if isinstance(value, list) else (), start=1):
        if isinstance(item, Mapping):
            at = steps[number - 1] if number <= len(steps) else Position(0, 0.0)
            time = item.get('time')
            found.append(
                Message(
                    number=number,
                    sender=str(item.get('sender', '')),
                    recipient=str(item.get('recipient', '')),
                    type=(kind := str(item.get('type', item.get('kind', '')))),
                    content=_content(str(item.get('content', '')), kind),
                    seq=at.seq,
                    time=float(time) if isinstance(time, int | float) and time else at.time,
                    about=str(item.get('step', '')),
                )
            )
    return found


def type_text(kind: str) -> str:
    """Return a type of messages in words: `plan request` for PLAN_REQUEST."""
    return kind.replace('_', ' ').lower()


def _content(text: str, kind: str) -> str:
    return logged_call(text) if kind == 'tool_call' else text


def parties(messages: Iterable[Message]) -> list[str]:
    """Return all senders and recipients, in order of appearance."""
    return list(dict.fromkeys(name for one in messages for name in (one.sender, one.recipient) if name))

"""Messages between agents: filters, and a list that is also a sequence diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from nicegui import ui
from nicegui.element import Element

from engine.records import View, clip
from ui.formatting.plain_text import plain_markdown_line
from ui.formatting.steps import duration, role_title
from ui.formatting.tool_calls import logged_call
from ui.formatting.values import exact
from ui.web.components.assets import ASSETS
from ui.web.components.elements import Conversation, count_equal_prefix
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, label, text_input
from ui.web.pages.run.pane import LazyPanel, RunPage
from ui.web.replay.history import Position, pad_positions

MessageLayout = Literal['list', 'sequence']

ANY = {'': 'Any'}
FORMS = (('list', 'List', 'view_list'), ('sequence', 'Sequence diagram', 'swap_horiz'))


class MessageList(Element, component=ASSETS / 'panels' / 'message_list.js'):
    """Rows of messages, of which only new ones are sent."""

    def __init__(
        self, layout: MessageLayout, *, label: str, on_pick: Callable[[int], Any], on_go: Callable[[int], Any]
    ) -> None:
        """Start empty.

        `on_pick` gets the number of a message to read, `on_go` that of a message whose step to show.
        """
        super().__init__()
        self._rows: list[Sequence[Any]] = []
        self._parties: list[str] = []
        self._props |= {'rows': [], 'parties': [], 'form': layout, 'label': label, 'at': 0, 'picked': 0}
        self.on('pick', lambda event: on_pick(int(event.args)))
        self.on('go', lambda event: on_go(int(event.args)))

    def show(self, rows: Sequence[Sequence[Any]], parties: Sequence[str]) -> None:
        """Show these rows (`Message.row`) between these parties."""
        keep = count_equal_prefix(self._rows, rows)
        if keep == len(self._rows) == len(rows) and self._parties == list(parties):
            return
        self._rows, self._parties = list(rows), list(parties)
        with self._props.suspend_updates():  # the browser gets the difference, below
            self._props |= {'rows': self._rows, 'parties': self._parties}
        self.run_method('splice', keep, self._rows[keep:], self._parties)

    def show_step(self, at: int) -> None:
        """Highlight what was sent in a step."""
        if self._props['at'] != at:
            with self._props.suspend_updates():
                self._props['at'] = at
            self.run_method('setStep', at)

    def set_layout(self, layout: MessageLayout) -> None:
        """Switch between a list and a sequence diagram."""
        with self._props.suspend_updates():
            self._props['form'] = layout
        self.run_method('setForm', layout)


class Messages(LazyPanel):
    """The messages of a run up to the step that is shown."""

    title = 'Messages'
    panel = 'messages'
    layout = 'flat'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._field = page.context.shape.field('messages')
        self._history, self._on_filter = page.context.history, page.show_address
        self.filter = initial = MessageFilter.from_query(page.query)
        self._messages: list[Message] = []
        self._drawn: object = None
        self._seq = 0
        with Box('messages'):
            self._draw_filters(initial)
            self._list = MessageList('list', label='Messages', on_pick=self._pick, on_go=self._go_to_step)
            self._none = Text('p', '', 'messages-none muted', role='status')
            with Box('message-open', 'section', aria_label='Message', tabindex='0') as self._detail:
                with Box('message-open-head'):
                    with Box('grow'):
                        self._title = Text('h2', '')
                        self._facts = Text('p', '', 'muted small num')
                    self._go = button('Go to step', icon='my_location', kind='small')
                    self._go.on('click', lambda: self.page.seek(self._seq))
                    close = button('', icon='close', kind='quiet small', label='Close')
                    close.on('click', lambda: self._detail.set_visibility(False))
                self._text = Conversation([], label='Content', follow=False)
            self._detail.set_visibility(False)

    def _draw_filters(self, initial: MessageFilter) -> None:
        with Box('messages-filters', role='search', aria_label='Messages'):
            self._sender = self._draw_choice('From', initial.sender)
            self._recipient = self._draw_choice('To', initial.recipient)
            self._type = self._draw_choice('Type', initial.type)
            with Box('messages-filter text'):
                self._words = text_input(initial.text, kind='search', placeholder='Contains', debounce='200')
                label('Contains', self._words, 'visually-hidden')
                self._words.on_value_change(lambda _: self._on_change())
            with Box('messages-forms', role='group', aria_label='Show as'):
                self._forms = {
                    form: self._draw_layout_button(form, title, icon) for form, title, icon in FORMS
                }
            self._count = Text('span', '', 'muted small num', role='status')

    def _draw_choice(self, name: str, value: str) -> NativeSelect:
        with Box('messages-filter'):
            choice = NativeSelect(ANY, value=value, on_change=self._on_change)
            label(name, choice, 'muted small')
        return choice

    def _draw_layout_button(self, form: str, title: str, icon: str) -> ui.element:
        toggle = button('', icon=icon, kind='quiet', label=title, aria_pressed=str(form == 'list').lower())
        toggle.on('click', lambda: self._show_as(form))
        return toggle

    def _show_as(self, form: str) -> None:
        for name, toggle in self._forms.items():
            toggle.props(f'aria-pressed="{str(name == form).lower()}"')
        self._list.set_layout('sequence' if form == 'sequence' else 'list')

    @property
    def query(self) -> Mapping[str, str]:
        """The filter as parameters of the address."""
        return self.filter.query

    def fill(self, view: View) -> None:
        """Send the messages up to the step of `view` to the page."""
        steps = self._history.appended_to(self._field)
        messages = view.memory.get(self._field)
        many = len(messages) if isinstance(messages, list) else 0
        if (many, len(steps), self.filter) != self._drawn:
            self._drawn = (many, len(steps), self.filter)
            self._messages = messages_of(messages, steps)
            self._show_list(view.started)
        self._list.show_step(view.seq)

    def _show_list(self, started: float) -> None:
        messages = self._messages
        for choice, names in (
            (self._sender, {message.sender for message in messages}),
            (self._recipient, {message.recipient for message in messages}),
        ):
            choice.set_options(ANY | {name: name.replace('_', ' ') for name in sorted(names)})
        self._type.set_options(
            ANY | {name: type_text(name) for name in sorted({message.type for message in messages})}
        )
        visible = [message for message in messages if self.filter.matches(message)]
        self._list.show([message.row(started) for message in visible], parties(visible))
        self._count.show(f'{len(visible)} of {len(messages)}' if messages else '')
        self._none.show('' if visible else 'No messages match.' if messages else 'No messages yet.')
        self._none.set_visibility(not visible)
        self._list.set_visibility(bool(visible))

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
            await self.page.seek(seq)

    def _pick(self, number: int) -> None:
        if not 0 < number <= len(self._messages):
            return
        message = self._messages[number - 1]
        facts = [type_text(message.type), *([exact(message.time)] if message.time else [])]
        facts += [f'step {message.seq} of the run'] if message.seq else []
        facts += [f'about step {message.about} of the plan'] if message.about else []
        self._seq = message.seq
        self._go.set_visibility(bool(message.seq))
        self._title.show(f'{role_title(message.sender)} to {role_title(message.recipient)}')
        self._facts.show(' · '.join(facts))
        self._text.show([{'kind': 'text', 'text': message.content or '(empty)'}])
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
    def from_query(cls, query: Mapping[str, str]) -> MessageFilter:
        """Read a filter from the parameters of an address."""
        return cls(**{name: str(query.get(name, ''))[:200] for name in cls.__slots__})

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the address; empty ones are left out."""
        return {name: value for name, value in asdict(self).items() if value}

    def matches(self, message: Message) -> bool:
        """Return whether a message passes all filters; the text is searched without regard to case."""
        exact = all(
            value in ('', getattr(message, name))
            for name, value in (('sender', self.sender), ('recipient', self.recipient), ('type', self.type))
        )
        return exact and (not self.text or self.text.strip().casefold() in message.content.casefold())


def messages_of(value: Any, steps: Sequence[Position] = ()) -> list[Message]:
    """Return the messages in a field of memory, dropping anything malformed.

    Args:
        value: the value of that field in a view.
        steps: the step that added each of them, as far as the history has been read.
    """
    items = value if isinstance(value, list) else []
    messages = []
    for number, (item, at) in enumerate(zip(items, pad_positions(steps, len(items)), strict=True), start=1):
        if isinstance(item, Mapping):
            time = item.get('time')
            messages.append(
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
    return messages


def type_text(kind: str) -> str:
    """Return a type of messages in words: `plan request` for PLAN_REQUEST."""
    return kind.replace('_', ' ').lower()


def _content(text: str, kind: str) -> str:
    return logged_call(text) if kind == 'tool_call' else text


def parties(messages: Iterable[Message]) -> list[str]:
    """Return all senders and recipients, in order of appearance."""
    return list(
        dict.fromkeys(name for message in messages for name in (message.sender, message.recipient) if name)
    )

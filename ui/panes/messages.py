"""The messages between agents, narrowed by filters, as a list or a sequence diagram."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import View
from ui.elements import Conversation
from ui.panes.around import Around
from ui.parts import Choice, Text, label, line_input
from ui.presenters.messages import Said, Wanted, messages_of, parties
from ui.presenters.reading import speaker
from ui.presenters.words import exact
from ui.replay.live import Follower
from ui.sequence import MessageList
from ui.theme import button

ANY = {'': 'Any'}
FORMS = (('list', 'List', 'view_list'), ('sequence', 'Sequence diagram', 'swap_horiz'))


class Messages:
    """All messages of a run up to its newest step; those after the step that is shown are dimmed."""

    def __init__(
        self,
        around: Around,
        follower: Follower,
        seek: Callable[[int | None], Awaitable[None]],
        wanted: Wanted,
        on_filter: Callable[[], None],
    ) -> None:
        self._field = around.shape.messages
        self._follower, self._seek, self.wanted, self._on_filter = follower, seek, wanted, on_filter
        self._said: list[Said] = []
        self._view: View | None = None
        self._opened = False
        self._drawn: object = None
        self._seq = 0
        with ui.element('div').classes('messages'):
            self._draw_filters(wanted)
            self._list = MessageList('list', label='Messages', on_pick=self._pick, on_go=self._visit)
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
                    self._go = button('Go to its step', icon='my_location', kind='small')
                    self._go.on('click', lambda: self._seek(self._seq))
                    close = button('', icon='close', kind='quiet small', label='Close the message')
                    close.on('click', lambda: self._detail.set_visibility(False))
                self._text = Conversation([], label='What it says', follow=False)
            self._detail.set_visibility(False)

    def _draw_filters(self, wanted: Wanted) -> None:
        with ui.element('div').classes('messages-filters').props('role="search" aria-label="Messages"'):
            self._sender = self._choice('From', ANY, wanted.sender)
            self._recipient = self._choice('To', ANY, wanted.recipient)
            self._type = self._choice('Type', ANY, wanted.type)
            with ui.element('div').classes('messages-filter text'):
                self._words = line_input(wanted.text, kind='search', placeholder='Words in it')
                self._words.props('debounce=200')
                label('Words in it', self._words, 'visually-hidden')
                self._words.on_value_change(lambda _: self._changed())
            with ui.element('div').classes('messages-forms').props('role="group" aria-label="Draw as"'):
                self._forms = {form: self._form(form, title, icon) for form, title, icon in FORMS}
            self._count = Text('span', '', 'muted small num', role='status')

    def _choice(self, name: str, options: dict[str, str], value: str) -> Choice:
        with ui.element('div').classes('messages-filter'):
            choice = Choice(options, value=value, on_change=self._changed)
            label(name, choice, 'muted small')
        return choice

    def _form(self, form: str, title: str, icon: str) -> ui.element:
        made = button('', icon=icon, kind='quiet', label=title)
        made.props(f'aria-pressed="{str(form == "list").lower()}"')
        made.on('click', lambda: self._be(form))
        return made

    def _be(self, form: str) -> None:
        for name, made in self._forms.items():
            made.props(f'aria-pressed="{str(name == form).lower()}"')
        self._list.be('sequence' if form == 'sequence' else 'list')

    def open(self, opened: bool) -> None:
        """Whether anybody looks: messages are sent only then."""
        self._opened = opened
        if opened and self._view is not None:
            self.show(self._view)

    def show(self, view: View) -> None:
        """Show the newest messages, and stand at the step of `view`."""
        self._view = view
        if not self._opened:
            return
        fold, steps = self._follower.fold, self._follower.index.grown.steps(self._field)
        memory = fold.view.memory if fold.ledger.seq else view.memory
        found = memory.get(self._field)
        many = len(found) if isinstance(found, list) else 0
        if (many, len(steps), self.wanted) != self._drawn:
            self._drawn = (many, len(steps), self.wanted)
            self._said = messages_of(found, steps)
            self._list_them(fold.ledger.started or view.started)
        self._list.stand(view.seq)

    def _list_them(self, started: float) -> None:
        said = self._said
        for choice, first, names in (
            (self._sender, ANY, {one.sender for one in said}),
            (self._recipient, ANY, {one.recipient for one in said}),
            (self._type, ANY, {one.type for one in said}),
        ):
            choice.offer({**first, **{name: name.replace('_', ' ') for name in sorted(names)}})
        shown = [one for one in said if self.wanted.takes(one)]
        self._list.show([one.row(started) for one in shown], parties(shown))
        self._count.show(f'{len(shown)} of {len(said)}' if said else '')
        self._none.show('' if shown else 'No message fits.' if said else 'Nobody has sent a message yet.')
        self._none.set_visibility(not shown)
        self._list.set_visibility(bool(shown))

    def _changed(self) -> None:
        self.wanted = Wanted(
            sender=self._sender.value,
            recipient=self._recipient.value,
            type=self._type.value,
            text=str(self._words.value or ''),
        )
        if self._view is not None:
            self.show(self._view)
        self._on_filter()

    async def _visit(self, number: int) -> None:
        if 0 < number <= len(self._said) and (seq := self._said[number - 1].seq):
            await self._seek(seq)

    def _pick(self, number: int) -> None:
        if not 0 < number <= len(self._said):
            return
        one = self._said[number - 1]
        facts = [one.type.replace('_', ' '), *([exact(one.time)] if one.time else [])]
        facts += [f'step {one.seq} of the run'] if one.seq else []
        facts += [f'about step {one.about} of the plan'] if one.about else []
        self._seq = one.seq
        self._go.set_visibility(bool(one.seq))
        self._title.show(f'{speaker(one.sender)} to {speaker(one.recipient)}')
        self._facts.show(' · '.join(facts))
        self._text.show([{'kind': 'text', 'text': one.content or '(empty)'}])
        self._detail.set_visibility(True)

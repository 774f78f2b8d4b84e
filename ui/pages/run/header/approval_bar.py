"""The approval bar, fixed over the top of the page, wherever the page is scrolled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine.records import View, parent_of
from ui.components.dialogs import notify_errors
from ui.components.theme import button
from ui.components.widgets import Text, set_attributes, set_class
from ui.formatting.steps import role_title
from ui.pages.shared.run.context import RunContext


class ApprovalBar:
    """The request that waits for a person, with its answers. It overlays the page, so nothing moves."""

    def __init__(self, context: RunContext, reveal: Callable[[str], Awaitable[None]]) -> None:
        """Draw it, hidden; `reveal` gets the agent whose question the person wants to answer, in its pane."""
        self._context = context
        self._leaf = ''
        with (
            ui.element('div')
            .classes('approval-bar')
            .props('role="region" aria-label="Needs you"') as self._root
        ):
            ui.icon('front_hand').props('size="18px" aria-hidden="true"')
            self._summary = Text('span', '', 'approval-bar-text')
            self._allow = button('Allow', kind='primary small', label='Allow once')
            self._deny = button('Deny', kind='small danger', label='Deny')
            self._reply = button('Answer', kind='primary small', requires='send')
            self._reply.on('click', lambda: reveal(parent_of(self._leaf)))
            self._allow.on('click', self._approve)
            self._deny.on('click', self._refuse)
        self._root.set_visibility(False)

    def show(self, view: View, *, may_control: bool) -> None:
        """Show what the newest step asks of a person."""
        waiting = [leaf for leaf in view.active if may_control and leaf.endswith(('.approving', '.asking'))]
        self._leaf = waiting[0] if waiting else ''
        self._root.set_visibility(bool(waiting))
        # For a `:has()` in a style sheet, which would be slow with `:not(.hidden)`.
        set_class(self._root, 'pressing', on=waiting)
        if not waiting:
            return
        agent = view.agents.get(parent_of(self._leaf), {})
        messages = agent.get('messages') or [{'parts': ()}]
        calls = [str(part['name']) for part in messages[-1]['parts'] if part['kind'] == 'call']
        who = self._context.name_of(parent_of(self._leaf), str(agent.get('role', '')))
        asks = self._leaf.endswith('.asking')
        for answer in (self._allow, self._deny):
            answer.set_visibility(not asks)
        self._reply.set_visibility(asks)
        more = f' · 1 of {len(waiting)}' if len(waiting) > 1 else ''
        what = (
            'asks you a question' if asks else f'waits for your approval: {", ".join(dict.fromkeys(calls))}'
        )
        text = f'{role_title(who)} {what}{more}'
        self._summary.show(text)
        set_attributes(self._summary, title=text)

    async def _approve(self) -> None:
        if self._leaf:
            await notify_errors(self._context.conductor.approve(self._context.run, self._leaf))

    async def _refuse(self) -> None:
        if self._leaf:
            await notify_errors(self._context.conductor.deny(self._context.run, self._leaf))

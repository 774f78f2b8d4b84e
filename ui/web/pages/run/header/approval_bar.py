"""The approval bar, fixed over the top of the page, wherever the page is scrolled."""

from __future__ import annotations

from nicegui import ui
from typing_extensions import override

from engine.records import parent_of
from ui.formatting.steps import role_title, short_json
from ui.web.components.dialogs import notify_errors
from ui.web.components.layout import show_part
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, set_class
from ui.web.pages.run.agents.agents import AgentPanes
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.panels.tabs import RunTabs


class ApprovalBar(Pane):
    """The request that waits for a person, with its answers. It overlays the page, so nothing moves."""

    place = 'head'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._leaf = ''
        with Box('approval-bar', role='region', aria_label='Needs you') as self._root:
            ui.icon('front_hand', size='18px')
            self._summary = Text('span', '', 'approval-bar-text')
            self._allow = button('Allow', kind='primary small answer', label='Allow once')
            self._deny = button('Deny', kind='small answer', label='Deny')
            self._reply = button('Answer', kind='primary small', requires='send')
            self._look = button('Look', kind='primary small look')
            for reveal in (self._reply, self._look):
                reveal.on('click', self._reveal)
            self._allow.on('click', self._approve)
            self._deny.on('click', self._refuse)
        self._root.set_visibility(False)

    @override
    def show_newest(self, moment: Moment) -> None:
        view = moment.newest
        waiting = [
            leaf for leaf in view.active if moment.may_control and leaf.endswith(('.approving', '.asking'))
        ]
        self._leaf = waiting[0] if waiting else ''
        self._root.set_visibility(bool(waiting))
        # For a `:has()` in a style sheet, which would be slow with `:not(.hidden)`.
        set_class(self._root, 'pressing', on=waiting)
        if not waiting:
            return
        agent = view.agents.get(parent_of(self._leaf), {})
        messages = agent.get('messages') or [{'parts': ()}]
        calls = [
            f'{part["name"]} {short_json(part.get("arguments", ""))}'
            for part in messages[-1]['parts']
            if part['kind'] == 'call'
        ]
        who = self.context.name_of(parent_of(self._leaf), str(agent.get('role', '')))
        asks = self._leaf.endswith('.asking')
        for answer in (self._allow, self._deny):
            answer.set_visibility(not asks)
        self._reply.set_visibility(asks)
        self._look.set_visibility(not asks)
        more = f' · 1 of {len(waiting)}' if len(waiting) > 1 else ''
        what = (
            'asks you a question' if asks else f'waits for your approval: {", ".join(dict.fromkeys(calls))}'
        )
        text = f'{role_title(who)} {what}{more}'
        self._summary.show(text)
        set_attributes(self._summary, title=text)

    async def _reveal(self) -> None:
        """Show the pane of the agent that asks, with the focus in the answer."""
        if not self.page.moment.live:
            await self.page.seek(None)
        self.page.find(RunTabs).open('')
        show_part('agents')
        self.page.find(AgentPanes).reveal_question(parent_of(self._leaf))

    async def _approve(self) -> None:
        if self._leaf:
            await notify_errors(self.context.conductor.approve(self.context.run, self._leaf))

    async def _refuse(self) -> None:
        if self._leaf:
            await notify_errors(self.context.conductor.deny(self.context.run, self._leaf))

"""The question whether an agent may use tools: what would run, and the answers to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from engine import Tool
from ui.panes.around import Send
from ui.parts import Text, attach
from ui.presenters.calls import problem_of, tags
from ui.theme import button


class Approval:
    """Asks a person; hidden while nothing is asked. What is typed stays until the question is another."""

    def __init__(self, send: Send, tools: Mapping[str, Tool]) -> None:
        self._send, self._tools = send, tools
        self._asked: object = None
        self._fields: dict[str, ui.textarea] = {}
        self.root = ui.element('div').classes('approval').props('role="group" aria-label="Approval"')
        self.root.set_visibility(False)

    def show(self, who: str, leaf: str, calls: Sequence[Mapping[str, Any]]) -> None:
        """Ask for these calls of the state `leaf`; '' asks nothing."""
        asked = (leaf, [call['id'] for call in calls])
        if asked == self._asked:
            return
        self._asked, self._leaf, self._calls = asked, leaf, list(calls)
        self._fields = {}
        self.root.clear()
        self.root.set_visibility(bool(leaf))
        if leaf:
            with self.root:
                self._draw(who)

    def _draw(self, who: str) -> None:
        names = ', '.join(dict.fromkeys(str(call['name']) for call in self._calls))
        Text('p', f'May {who.lower()} use {names}?', 'approval-question')
        for call in self._calls:
            self._draw_call(call)
        with ui.element('div').classes('approval-answers'):
            button('Allow once', icon='check', kind='primary').on('click', lambda: self._allow(always=False))
            button('Allow for this run').on('click', lambda: self._allow(always=True))
            self._reason = ui.input(label='Reason, if not').props('dense outlined').classes('grow')
            self._reason.on('keydown.enter', self._deny)
            button('Deny', icon='block', kind='danger').on('click', self._deny)

    def _draw_call(self, call: Mapping[str, Any]) -> None:
        tool = self._tools.get(str(call['name']))
        text = _pretty(str(call['arguments']))
        with ui.element('div').classes('approval-call'):
            with ui.element('div').classes('approval-head'):
                Text('b', str(call['name']), 'mono')
                for tag in tags(tool):
                    Text('span', tag, 'chip')
                ui.element('span').classes('grow')
                edit = button('Edit the arguments', icon='edit', kind='quiet small')
            shown = Text('pre', text, 'approval-runs', tabindex='0', aria_label='What will run')
            place = ui.element('div')

        def open_field() -> None:
            shown.set_visibility(False)
            edit.set_visibility(False)
            with place:
                field = ui.textarea(
                    label=f'Arguments of {call["name"]}, as JSON',
                    value=text,
                    validation=lambda value: problem_of(str(value or ''), tool) or None,
                )
                field.props('outlined dense autogrow').classes('mono full')
                attach(field, spellcheck='false')
                field.on('keydown.ctrl.enter', lambda: self._allow(always=False))
            self._fields[str(call['id'])] = field
            field.run_method('focus')

        edit.on('click', open_field)

    async def _allow(self, *, always: bool) -> None:
        faulty = [field for field in self._fields.values() if not field.validate()]
        if faulty:
            faulty[0].run_method('focus')
            return
        written = {call: str(field.value or '') for call, field in self._fields.items()}
        data: dict[str, Any] = {'always': True} if always else {}
        await self._send('approve', self._leaf, data | ({'arguments': written} if written else {}))

    async def _deny(self) -> None:
        await self._send('deny', self._leaf, {'reason': str(self._reason.value or '').strip()})


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text or '{}'), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text

"""Approval of tool calls: what would run, and the answers to choose from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from engine.tools import Tool
from ui.formatting.tool_calls import argument_pairs, argument_problem, tool_tags
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes
from ui.web.pages.shared.run.context import Send


class Approval:
    """Asks for approval; hidden while nothing is pending. Typed text stays until the question changes."""

    def __init__(self, send: Send, tools: Mapping[str, Tool]) -> None:
        self._send, self._tools = send, tools
        self._request: object = None
        self._fields: dict[str, ui.textarea] = {}
        self.root = Box('approval', role='group', aria_label='Approval')
        self.root.set_visibility(False)

    def show(self, who: str, leaf: str, calls: Sequence[Mapping[str, Any]], *, may_edit: bool = True) -> None:
        """Ask for approval of the calls of state `leaf`; '' hides the question.

        Args:
            who: the agent's name.
            leaf: its state.
            calls: the pending tool calls.
            may_edit: whether the arguments can be edited; those of an external agent cannot.
        """
        request = (leaf, [call['id'] for call in calls])
        if request == self._request:
            return
        self._request, self._leaf, self._calls, self._may_edit = request, leaf, list(calls), may_edit
        self._fields = {}
        self.root.clear()
        self.root.set_visibility(bool(leaf))
        if leaf:
            with self.root:
                self._draw(who)

    def _draw(self, who: str) -> None:
        names = ', '.join(dict.fromkeys(str(call['name']) for call in self._calls))
        Text('p', f'Allow {who.lower()} to use {names}?', 'approval-question')
        for call in self._calls:
            self._draw_call(call)
        with Box('approval-answers'):
            once = button('Allow once', icon='check', kind='primary', requires='send')
            once.on('click', lambda: self._approve(always=False))
            button('Allow for this run', requires='send').on('click', lambda: self._approve(always=True))
            self._reason = ui.input(label='Reason for denying').props('dense outlined').classes('grow')
            self._reason.on('keydown.enter', self._deny)
            button('Deny', icon='block', kind='deny', requires='send').on('click', self._deny)

    def _draw_call(self, call: Mapping[str, Any]) -> None:
        tool = self._tools.get(str(call['name']))
        text = _pretty(str(call['arguments']))
        with Box('approval-call'):
            with Box('approval-head'):
                Text('b', str(call['name']), 'mono')
                for tag in tool_tags(tool):
                    Text('span', tag, 'chip')
                Box('grow', 'span')
                edit = button('Edit arguments', icon='edit', kind='quiet small')
                edit.set_visibility(self._may_edit)
            arguments = _draw_arguments(str(call['arguments']))
            place = Box()

        def open_field() -> None:
            arguments.set_visibility(False)
            edit.set_visibility(False)
            with place:
                field = ui.textarea(
                    label=f'Arguments of {call["name"]}, as JSON',
                    value=text,
                    validation=lambda value: argument_problem(str(value or ''), tool) or None,
                )
                field.props('outlined dense autogrow').classes('mono full')
                set_attributes(field, spellcheck='false')
                field.on('keydown.ctrl.enter.prevent', lambda: self._approve(always=False))
            self._fields[str(call['id'])] = field
            field.run_method('focus')

        edit.on('click', open_field)

    async def _approve(self, *, always: bool) -> None:
        faulty = [field for field in self._fields.values() if not field.validate()]
        if faulty:
            faulty[0].run_method('focus')
            return
        written = {call: str(field.value or '') for call, field in self._fields.items()}
        data: dict[str, Any] = {'always': True} if always else {}
        await self._send('approve', self._leaf, data | ({'arguments': written} if written else {}))

    async def _deny(self) -> None:
        await self._send('deny', self._leaf, {'reason': str(self._reason.value or '').strip()})


def _draw_arguments(text: str) -> ui.element:
    """Draw the arguments as names and values, or as they are if they are not a JSON object."""
    pairs, raw = argument_pairs(text)
    with Box('approval-runs', role='group', tabindex='0', aria_label='Will run') as group:
        if raw or not pairs:
            Text('span', raw or 'No arguments.', 'tool-value' if raw else 'muted')
            return group
        with Box('tool-arguments', 'dl'):
            for name, value in pairs:
                with Box():
                    Text('dt', name.replace('_', ' '))
                    with Box(tag='dd'):
                        Text('span', value if isinstance(value, str) else _format(value), 'tool-value')
    return group


def _pretty(text: str) -> str:
    try:
        return _format(json.loads(text or '{}'))
    except (ValueError, RecursionError):
        return text


def _format(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)

"""Blocks of a conversation: what an agent said and did, and what a step adds to the transcript."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from engine import Transition
from engine.records import Shape, calls_of, parent_of, reply_of
from engine.tools import bullet
from ui.formatting.changes import constant_text
from ui.formatting.steps import role_title
from ui.formatting.tool_calls import Block, CallContext, call_block
from ui.web.replay.marks import is_by_person, mark_of

BLOCK = re.compile(r'\s*([-*+] |\d+[.)] |#|>|```|\|)')
"""Matches Markdown text that does not begin with a paragraph."""


def agent_blocks(agent: Mapping[str, Any], calls: CallContext | None = None) -> list[Block]:
    """Return the blocks of an agent's conversation; a tool call and its result are one block.

    Args:
        agent: the dump of an `AgentState`.
        calls: the context of tool calls.
    """
    context = calls or CallContext()
    messages = agent.get('messages', ())
    results = {part['id']: part for entry in messages for part in entry['parts'] if part['kind'] == 'result'}
    blocks: list[Block] = []
    for message in messages:
        for part in message['parts']:
            block = _block(message['role'], part, results, context)
            if block:
                blocks.append(block)
    return blocks


def _block(
    role: str, part: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]], calls: CallContext
) -> Block | None:
    match part['kind'], role:
        case 'text', 'system':
            return {'kind': 'task', 'title': 'Instructions', 'text': part['text']}
        case 'text', 'user':
            return {'kind': 'task', 'title': 'Task', 'text': part['text']}
        case 'text', _:
            return {'kind': 'text', 'text': json_to_markdown(part['text'])}
        case 'reasoning', _:
            return {'kind': 'reasoning', 'title': 'Thinking', 'text': part['text']}
        case 'call', _:
            return call_block(part, results.get(part['id']), calls)
    return None


def json_to_markdown(text: str) -> str:
    """Return a JSON answer as readable Markdown, and any other text unchanged."""
    if not text.lstrip().startswith('{'):
        return text
    try:
        values = json.loads(text)
    except json.JSONDecodeError:
        return text
    return (
        '\n\n'.join(_describe_value(name, value) for name, value in values.items())
        if isinstance(values, dict)
        else text
    )


def _describe_value(name: str, value: Any) -> str:
    title = f'**{name.replace("_", " ").capitalize()}**'
    if isinstance(value, bool):
        return f'{title}: {"yes" if value else "no"}'
    if isinstance(value, list):
        return f'{title}\n\n' + ('\n'.join(bullet(_plain_text(item)) for item in value) or '- none')
    text = _plain_text(value, name)
    # A list or a heading needs its own line.
    return f'{title}:\n\n{text}' if BLOCK.match(text) or '\n\n' in text else f'{title}: {text}'


def _plain_text(value: Any, name: str = '') -> str:
    match value:
        case str():
            return constant_text(value, name) or 'none'
        case dict():
            text = (
                f'{key.replace("_", " ").capitalize()}: {_plain_text(item, key)}'
                for key, item in value.items()
            )
            return ' · '.join(text) or 'none'
        case list():
            return ', '.join(map(_plain_text, value)) or 'none'
        case None | bool():
            return {None: 'none', True: 'yes', False: 'no'}[value]
        case float():
            return f'{value:.6g}'
    return str(value)


def transcript_entry(transition: Transition, shape: Shape) -> Block | None:
    """Return what a step adds to the transcript: words of an agent or a person, a failure; or None."""
    event = transition.event
    home = parent_of(event.at)
    if reply := reply_of(event):
        state = shape.state(home)
        texts = [part['text'] for part in reply['message']['parts'] if part['kind'] == 'text']
        calls = [call['name'] for call in calls_of(event)]
        text = json_to_markdown(''.join(texts)) if texts else f'uses {", ".join(calls)}'
        note = f'{reply.get("model", "")} · step {transition.seq}'
        kind = 'text' if texts else 'event'
        role = reply.get('role') or (state.role if state else home)
        return {'kind': kind, 'title': role_title(str(role)), 'note': note, 'text': text}
    mark = mark_of(transition, shape.marks, {})
    if mark is None or mark.kind == 'revision':
        return None
    kind = 'human' if is_by_person(transition, mark) else 'event'
    return {
        'kind': kind,
        'title': 'You' if kind == 'human' else '',
        'note': f'step {transition.seq}',
        'text': mark.text,
    }

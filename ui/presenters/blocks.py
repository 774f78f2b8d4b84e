"""Blocks of a conversation: what an agent said and did, and what a step adds to the transcript."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine import Shape, Transition, parent_of
from ui.presenters.calls import Block, Calls, call_block
from ui.presenters.reading import speaker
from ui.replay.marks import by_person, mark_of


def agent_blocks(agent: Mapping[str, Any], calls: Calls | None = None) -> list[Block]:
    """An agent's conversation (the dump of an `AgentState`); a tool's call and its result are one block."""
    known = calls or Calls()
    messages = agent.get('messages', ())
    results = {part['id']: part for said in messages for part in said['parts'] if part['kind'] == 'result'}
    blocks: list[Block] = []
    for message in messages:
        for part in message['parts']:
            block = _block(message['role'], part, results, known)
            if block:
                blocks.append(block)
    return blocks


def _block(
    role: str, part: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]], calls: Calls
) -> Block | None:
    match part['kind'], role:
        case 'text', 'system':
            return {'kind': 'task', 'title': 'Instructions', 'text': part['text']}
        case 'text', 'user':
            return {'kind': 'task', 'title': 'Task', 'text': part['text']}
        case 'text', _:
            return {'kind': 'text', 'text': readable(part['text'])}
        case 'reasoning', _:
            return {'kind': 'reasoning', 'title': 'Thinking', 'text': part['text']}
        case 'call', _:
            return call_block(part, results.get(part['id']), calls)
    return None


def readable(text: str) -> str:
    """An answer in JSON as Markdown that a person reads; any other text as it is."""
    if not text.lstrip().startswith('{'):
        return text
    try:
        values = json.loads(text)
    except json.JSONDecodeError:
        return text
    return (
        '\n\n'.join(_said(name, value) for name, value in values.items())
        if isinstance(values, dict)
        else text
    )


def _said(name: str, value: Any) -> str:
    title = f'**{name.replace("_", " ").capitalize()}**'
    if isinstance(value, bool):
        return f'{title}: {"yes" if value else "no"}'
    if isinstance(value, list):
        return f'{title}\n\n' + ('\n'.join(f'- {_plain(item)}' for item in value) or '- none')
    return f'{title}: {_plain(value)}'


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def entry(transition: Transition, shape: Shape) -> Block | None:
    """What a step adds to the transcript: words of an agent, of a person, a mishap; or None."""
    event = transition.event
    home = parent_of(event.at)
    if event.name == 'done' and 'message' in event.data:
        state = shape.state(home)
        texts = [part['text'] for part in event.data['message']['parts'] if part['kind'] == 'text']
        calls = [part['name'] for part in event.data['message']['parts'] if part['kind'] == 'call']
        text = readable(''.join(texts)) if texts else f'uses {", ".join(calls)}'
        note = f'{event.data.get("model", "")} · step {transition.seq}'
        kind = 'text' if texts else 'event'
        role = event.data.get('role') or (state.role if state else home)
        return {'kind': kind, 'title': speaker(str(role)), 'note': note, 'text': text}
    mark = mark_of(transition, {})
    if mark is None or mark.kind == 'revision':
        return None
    kind = 'human' if by_person(transition, mark) else 'event'
    return {
        'kind': kind,
        'title': 'You' if kind == 'human' else '',
        'note': f'step {transition.seq}',
        'text': mark.text,
    }

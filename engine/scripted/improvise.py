"""Answers to a task that no scenario knows: from its own words, for any role and schema."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

from engine.budgets.meter import NOTICE
from engine.message import Message, ToolResult
from engine.model import ModelRequest
from engine.scripted import prose
from engine.scripted.fill import Filler
from engine.scripted.scenario import Call, Turn
from engine.scripted.topic import Topic, topic

UNFIT = 'Your answer does not fit'
PLAN = 'Plan'


def improvise(request: ModelRequest) -> Turn:
    """One reply: the same to the same request."""
    hints = request.hints
    asked = _asked(request)
    subject = topic(hints.task or _task(asked))
    calls = _calls(request, subject) if hints.turn == 0 else ()
    if calls:
        return Turn(reasoning=prose.opening(subject, hints.role, hints.visit), calls=calls)
    if request.schema is None:
        return Turn(text=_text(request, subject, asked))
    # Not validated: the schema of a list has a list for its answer, which a scenario's turn may not have.
    return Turn.model_construct(answer=_answer(request, subject, asked))


def _asked(request: ModelRequest) -> str:
    """The latest thing that was asked for."""
    told = (message.text for message in reversed(request.messages) if message.role == 'user')
    return next((text for text in told if not text.startswith(NOTICE)), '')


def _task(asked: str) -> str:
    """The task inside a prompt, where nobody hinted at it."""
    found = re.search(r'\btask:\s*(.+?)(?:\n\s*\n|\Z)', asked, flags=re.I | re.S)
    return (found.group(1) if found else asked.partition('\n\n')[0]).strip()


def _calls(request: ModelRequest, subject: Topic) -> tuple[Call, ...]:
    """Tools, now and then: a note and a sum at the start, a look at the note when the work comes back."""
    offered = {spec.name for spec in request.tools}
    calls: list[Call] = []
    if 'get_previous' in offered:
        found = re.findall(r'^- (\S+) \(task ', _asked(request), flags=re.M)
        calls += [Call(tool='get_previous', arguments={'role': role}) for role in dict.fromkeys(found)]
    if request.hints.visit > 1:
        if 'notes' in offered and _results(request, 'notes'):
            calls.append(Call(tool='notes', arguments={'action': 'read', 'title': PLAN}))
        return tuple(calls)
    if 'notes' in offered:
        text = prose.plan(subject)
        calls.append(Call(tool='notes', arguments={'action': 'write', 'title': PLAN, 'text': text}))
    if 'calculator' in offered and subject.sum:
        calls.append(Call(tool='calculator', arguments={'expression': subject.sum.expression}))
    return tuple(calls)


def _results(request: ModelRequest, tool: str) -> list[str]:
    return [
        part.text
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.name == tool and part.ok
    ]


def _worked_out(request: ModelRequest, subject: Topic) -> str:
    """The sentence about the task's numbers, if they were worked out."""
    results = _results(request, 'calculator')
    return subject.sum.says.format(f'{round(float(results[-1]), 2):,.10g}') if subject.sum and results else ''


def _text(request: ModelRequest, subject: Topic, asked: str) -> str:
    hints = request.hints
    worked_out = _worked_out(request, subject)
    if hints.role != 'analyzer':
        variety = zlib.crc32(f'{hints.seed}:{hints.state}'.encode())
        return prose.contribution(subject, hints.role, hints.visit, worked_out, variety)
    findings = next(filter(None, map(_findings, request.messages)), [])
    comments = _comments(asked)
    if hints.visit == 1 or not comments:
        return prose.first_draft(subject, findings, worked_out)
    return prose.revision(subject, findings, comments, hints.visit, worked_out)


def _findings(message: Message) -> list[str]:
    """The findings in a prompt: the list under that word, without the open questions below it."""
    found = re.search(r'Findings:\n(.*?)(?:\n\s*\n|\Z)', message.text, flags=re.S)
    return re.findall(r'^- (.+)$', found.group(1), flags=re.M) if found else []


def _comments(asked: str) -> list[str]:
    return re.findall(r'^\d+\. (.+)$', asked, flags=re.M)


def _answer(request: ModelRequest, subject: Topic, asked: str) -> Any:
    hints = request.hints
    first = hints.visit == 1
    suggested: Mapping[str, Any] = {}
    # An answer that did not fit is mended by the schema alone: what was suggested may be what was wrong.
    if not asked.startswith(UNFIT):
        suggested = prose.suggestions(subject, hints.role, hints.visit, _worked_out(request, subject))
    # From the second visit on, say yes: what goes round until somebody agrees must not go round for ever.
    return Filler(
        request.schema or {},
        lambda name, index: prose.field(subject, name, index),
        level=0.6 if first else 0.85,
        yes=not first,
        suggested=suggested,
    ).value()

"""Improvised answers to tasks without a scenario, built from their words, for any role and schema."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from engine.models.prepared_replies import Call, Turn
from engine.models.protocol import ModelRequest
from engine.models.scripted import software, templates, tool_agents
from engine.models.scripted.schema_faker import SchemaFaker
from engine.models.scripted.topic_extraction import Topic, extract_topic
from engine.records.message import Message, ToolResult
from engine.records.usage import NOTICE

UNFIT = 'Your answer does not fit'
PLAN = 'Plan'
CANDIDATE = r'\b(\w+)/ \(version \d+, '
REVISED = re.compile(r'^Your folder holds version (\d+) ', re.M)
TEST_COUNTS = re.compile(r'(.+: \d+ .+) in [\d.]+ s')
"""A candidate's test counts, without the duration, which differs each time."""


def improvise(request: ModelRequest) -> Turn:
    """Improvise a reply; the same request gives the same reply."""
    hints = request.hints
    prompt = _latest_request(request)
    subject = extract_topic(hints.task or _task(prompt))
    # A rejected answer is repaired from the schema alone: the suggestions may have caused the rejection.
    played = None if prompt.startswith(UNFIT) else tool_agents.act(request, subject)
    if played:
        return played
    calls = _calls(request, subject) if hints.turn == 0 else _tests(request) if hints.turn == 1 else ()
    if calls:
        return Turn(reasoning=templates.opening(subject, hints.role, hints.visit), calls=calls)
    if request.schema is None:
        return Turn(text=tool_agents.add_signal(request, _improvise_text(request, subject, prompt)))
    # Not validated: a list schema's answer is a list, which a scenario's turn may not have.
    return Turn.model_construct(answer=_answer(request, subject, prompt))


def _latest_request(request: ModelRequest) -> str:
    """Return the latest user message that is not a budget notice."""
    texts = (message.text for message in reversed(request.messages) if message.role == 'user')
    return next((text for text in texts if not text.startswith(NOTICE)), '')


def _task(prompt: str) -> str:
    """Extract the task from a prompt, for requests without a task in their hints."""
    match = re.search(r'\btask:\s*(.+?)(?:\n\s*\n|\Z)', prompt, flags=re.I | re.S)
    return (match.group(1) if match else prompt.partition('\n\n')[0]).strip()


def _calls(request: ModelRequest, subject: Topic) -> tuple[Call, ...]:
    """Return tool calls for the first reply of a visit, depending on the tools offered."""
    offered = {spec.name for spec in request.tools}
    if {'write_file', 'run_tests'} <= offered and _schema_title(request) == 'CodeOutput':
        files = software.files(subject, request.hints.visit)
        writes = [
            Call(tool='write_file', arguments={'path': path, 'text': text}) for path, text in files.items()
        ]
        return (*writes, Call(tool='run_tests', arguments={}))
    calls: list[Call] = []
    if 'get_previous' in offered:
        roles = re.findall(r'^- (\S+) \(task ', _latest_request(request), flags=re.M)
        calls += [Call(tool='get_previous', arguments={'role': role}) for role in dict.fromkeys(roles)]
    if 'compare_candidates' in offered and (names := re.findall(CANDIDATE, _latest_request(request))):
        calls.append(Call(tool='list_files', arguments={}))
        calls += [
            Call(tool='compare_candidates', arguments={'first': first, 'second': second})
            for first, second in pairwise(names)
        ]
    revised = REVISED.search(_latest_request(request))
    if request.hints.visit > 1 and not revised:
        if 'notes' in offered and _results(request, 'notes'):
            calls.append(Call(tool='notes', arguments={'action': 'read', 'title': PLAN}))
        return tuple(calls)
    if 'notes' in offered:
        text = templates.plan(subject)
        calls.append(Call(tool='notes', arguments={'action': 'write', 'title': PLAN, 'text': text}))
        if 'write_file' in offered:
            text = f'Simulated filler: the scripted model has no solution for this task.\n\n{text}\n'
            if revised:
                text += f'\nThis revises version {revised[1]}.\n'
            calls.append(Call(tool='write_file', arguments={'path': 'SIMULATED.txt', 'text': text}))
    if 'calculator' in offered and subject.sum:
        calls.append(Call(tool='calculator', arguments={'expression': subject.sum.expression}))
    return tuple(calls)


def _tests(request: ModelRequest) -> tuple[Call, ...]:
    """Return a reviewer's second calls: the tests of each candidate that has some."""
    if 'test_candidate' not in {spec.name for spec in request.tools}:
        return ()
    listed = '\n'.join(_results(request, 'list_files')[-1:])
    names = re.findall(r'^(\w+)/(?:\S*/)?test_\w+\.py ', listed, flags=re.M)
    return tuple(Call(tool='test_candidate', arguments={'candidate': name}) for name in dict.fromkeys(names))


def _results(request: ModelRequest, tool: str) -> list[str]:
    return [
        part.text
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolResult) and part.name == tool and part.ok
    ]


def _describe_results(request: ModelRequest, subject: Topic) -> str:
    """Return a sentence about the result computed from the task's numbers, if any."""
    results = _results(request, 'calculator')
    return subject.sum.says.format(f'{round(float(results[-1]), 2):,.10g}') if subject.sum and results else ''


def _improvise_text(request: ModelRequest, subject: Topic, prompt: str) -> str:
    hints = request.hints
    worked_out = _describe_results(request, subject)
    if hints.role != 'analyzer':
        variety = zlib.crc32(f'{hints.seed}:{hints.state}'.encode())
        return templates.contribution(subject, hints.role, hints.visit, worked_out, variety)
    findings = next(filter(None, map(_findings, request.messages)), [])
    comments = _comments(prompt)
    if hints.visit == 1 or not comments:
        return templates.first_draft(subject, findings, worked_out)
    return templates.revision(subject, findings, comments, hints.visit, worked_out)


def _schema_title(request: ModelRequest) -> str:
    return str((request.schema or {}).get('title', ''))


def _findings(message: Message) -> list[str]:
    """Return the findings in a prompt: the list under that heading, without the open questions below it."""
    match = re.search(r'Findings:\n(.*?)(?:\n\s*\n|\Z)', message.text, flags=re.S)
    return re.findall(r'^- (.+)$', match.group(1), flags=re.M) if match else []


def _comments(prompt: str) -> list[str]:
    """Return the comments of the latest review in a prompt."""
    return re.findall(r'^\d+\. (.+)$', prompt.rpartition('\nReview ')[2], flags=re.M)


def _answer(request: ModelRequest, subject: Topic, prompt: str) -> Any:
    hints = request.hints
    first = hints.visit == 1
    suggested: Mapping[str, Any] = {}
    if not prompt.startswith(UNFIT):
        suggested = templates.suggestions(
            subject, hints.role, hints.visit, _describe_results(request, subject)
        )
        tested = [
            match[1] for text in _results(request, 'test_candidate') if (match := TEST_COUNTS.match(text))
        ]
        suggested = {**suggested, **({'rests_on': tested} if tested else {})}
        suggested = {
            **suggested,
            **software.suggestions(subject, _schema_title(request), hints.visit, prompt),
        }
    # From the second visit on, agree: a loop that waits for agreement must end.
    return SchemaFaker(
        request.schema or {},
        lambda name, index: templates.field(subject, name, index),
        level=0.6 if first else 0.85,
        yes=not first,
        suggested=suggested,
    ).value()

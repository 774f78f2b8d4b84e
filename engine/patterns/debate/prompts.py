"""The prompts of a debate: a reviewer's turn, and how earlier messages are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.agents.spec import Role
from engine.patterns.debate.config import DebateConfig
from engine.patterns.debate.quoting import bullet_list, fence
from engine.patterns.debate.records import SYNTHESIZER, DebateMemory, Utterance

MAX_POINTS = 20
MAX_MESSAGE = 6_000
"""Maximum characters of a message shown to the others."""
DEBATE = (
    'Come to agree with the others on which implementation is the best, what has to be changed, and in '
    'which order. Name the facts that you rest on; a test that fails is one. Concede what is right in what '
    'they say, and say what you insist on.'
)
FINAL = (
    'Judge whether what was revised can be delivered. Approve it, or say what has to be changed yet. Look '
    'first at whether the demands of the last consensus are met, and at the tests.'
)
WORDS = (
    'Begin a line with `REVISE_BEST: <name> <what to change>`, `REVISE_ALL: <what to change>` or '
    '`APPROVE: <name> <why>` to say your verdict. When you agree with the others, begin the line with '
    '`CONSENSUS:` and put the verdict after it: `CONSENSUS: REVISE_BEST: <name> <what to change>`.'
)
ANSWER = (
    'These points of the others are open. Answer each that matters in `answers`, by its id: whether you '
    'accept or rebut it, and why.'
)
RECORD = 'Set `agrees` when the others have already said what you would settle on, and only then.'


def turn_prompt(reviewer: str, config: DebateConfig, memory: DebateMemory) -> str:
    """Return a reviewer's prompt for its turn."""
    debate = memory.debate
    others = [name for name in config.names if name != reviewer]
    who = f'With {" and ".join(others)} you' if others else 'You'
    first = not any(
        utterance.speaker == reviewer and not utterance.human for utterance in memory.current_utterances()
    )
    return '\n\n'.join(
        [
            f'You are {reviewer}. {who} review implementations of one task. '
            f'This is round {debate.round} of at most {config.rounds}.',
            FINAL if config.phase == 'final' else DEBATE,
            config.subject(memory, first),
            'What was said last:',
            recent_messages(memory, config.recent),
            *_open_points(reviewer, config, memory),
            WORDS if config.words_only else RECORD,
        ]
    )


def _open_points(reviewer: str, config: DebateConfig, memory: DebateMemory) -> list[str]:
    points = [] if config.words_only else memory.open_points(reviewer)
    listed = bullet_list(f'{place}: {text}' for place, text in points[-MAX_POINTS:])
    return [f'{ANSWER}\n{fence("open points", listed, MAX_MESSAGE)}'] if points else []


def recent_messages(memory: DebateMemory, count: int) -> str:
    """Return the latest messages, each in its own fence."""
    utterances = [
        utterance for utterance in memory.transcript if not utterance.problem and not utterance.synthesized
    ][-count:]
    messages = [fence(_head(utterance), _body(utterance), MAX_MESSAGE) for utterance in utterances]
    absences = [f'{name} takes no part: {problem}' for name, problem in memory.debate.absent.items()]
    return '\n\n'.join([*messages, *absences]) or 'Nothing yet.'


SYNTHESIS = Role(
    name=SYNTHESIZER,
    title='Synthesizer',
    instructions=(
        'You draw a result from a debate whose speakers did not agree. You do not take part in it: weigh '
        'what was said by the facts it rests on, and keep every demand that nobody has refuted.'
    ),
)
"""The role that derives a result from a debate without consensus."""


def synthesis_prompt(subject: Callable[[Any, bool], str], memory: DebateMemory) -> str:
    """Return the synthesizer's prompt."""
    utterances = [utterance for utterance in memory.current_utterances() if utterance.position]
    messages = [fence(_head(utterance), _body(utterance), MAX_MESSAGE) for utterance in utterances]
    return '\n\n'.join(
        [
            'The reviewers did not agree. Say what should be done: which implementation is the best, and '
            'what has to be changed. You cannot approve in their place.',
            subject(memory, False),
            'The debate:',
            *messages,
        ]
    )


def _head(utterance: Utterance) -> str:
    when = f'round {utterance.round}' if utterance.round else 'first review'
    return f'{utterance.speaker}{" (a person)" if utterance.human else ""}, {when}'


def _body(utterance: Utterance) -> str:
    position = utterance.position
    if position is None:
        return utterance.text
    parts = [f'[{position.verdict}{f" {position.best}" if position.best else ""}] {utterance.text}']
    for name in ('concedes', 'insists', 'changes', 'rests_on'):
        points = getattr(position, name)
        if points:
            parts.append(f'{name.replace("_", " ")}:\n{bullet_list(points)}')
    return '\n'.join(parts)

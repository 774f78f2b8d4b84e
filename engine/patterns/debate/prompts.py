"""The prompts of a debate: a reviewer's turn, and how earlier messages are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.agents.spec import Role
from engine.patterns.debate.config import DebateConfig
from engine.patterns.debate.records import SYNTHESIZER, DebateMemory, Utterance
from engine.statechart.expressions.quoting import bullet_list, fence

MAX_POINTS = 20
MAX_MESSAGE = 6_000
"""Maximum characters of a message shown to the others."""
DEBATE = (
    'Agree with the others on which implementation is best, what must change, and in which order. Support '
    'your points with facts, such as failing tests. Concede what the others get right, and say what you '
    'insist on.'
)
FINAL = (
    'Decide whether the revised work can be delivered. Approve it, or say what must still change. First '
    'check the tests, and whether the changes that the last consensus asked for were made.'
)
WORDS = (
    'State your verdict at the start of a line: `REVISE_BEST: <name> <what to change>`, `REVISE_ALL: <what '
    'to change>` or `APPROVE: <name> <why>`. If you agree with the others, start the line with '
    '`CONSENSUS:`, followed by the verdict: `CONSENSUS: REVISE_BEST: <name> <what to change>`.'
)
ANSWER = (
    'These points of the others are open. In `answers`, accept or rebut each one that matters, by its id, '
    'and say why.'
)
RECORD = 'Set `agrees` only if the others have already stated what you would settle on.'


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
            'The latest messages:',
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
    absences = [f'{name} is absent: {problem}' for name, problem in memory.debate.absent.items()]
    return '\n\n'.join([*messages, *absences]) or 'Nothing yet.'


SYNTHESIS = Role(
    name=SYNTHESIZER,
    title='Synthesizer',
    instructions=(
        'You turn a debate that ended without agreement into a decision. You do not take part in it: weigh '
        'what was said by the facts that support it, and keep every demand that nobody refuted.'
    ),
)
"""The role that derives a result from a debate without consensus."""


def synthesis_prompt(subject: Callable[[Any, bool], str], memory: DebateMemory) -> str:
    """Return the synthesizer's prompt."""
    utterances = [utterance for utterance in memory.current_utterances() if utterance.position]
    messages = [fence(_head(utterance), _body(utterance), MAX_MESSAGE) for utterance in utterances]
    return '\n\n'.join(
        [
            'The reviewers did not agree. Decide which implementation is best and what must change. You '
            'cannot approve on their behalf.',
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
    lists = {
        'Concedes': position.concedes,
        'Insists on': position.insists,
        'Asks for': position.changes,
        'Facts': position.rests_on,
    }
    parts += [f'{heading}:\n{bullet_list(points)}' for heading, points in lists.items() if points]
    return '\n'.join(parts)

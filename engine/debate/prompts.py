"""The prompts of a debate: what a reviewer is asked in its turn, and how what was said is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.agent import Role
from engine.debate.fence import fenced, listed
from engine.debate.records import SYNTHESIZER, DebateMemory, Said

if TYPE_CHECKING:
    from engine.debate.terms import Terms

MOST_SAID = 6_000
"""Characters of one message that the others are shown."""
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
RECORD = 'Set `agrees` when the others have already said what you would settle on, and only then.'


def turn(reviewer: str, terms: Terms, memory: DebateMemory) -> str:
    """What a reviewer is asked in its turn."""
    debate = memory.debate
    others = [name for name in terms.names if name != reviewer]
    first = not any(said.speaker == reviewer and not said.human for said in memory.heard())
    return '\n\n'.join(
        [
            f'You are {reviewer}. With {" and ".join(others)} you review implementations of one task. '
            f'This is round {debate.round} of at most {terms.rounds}.',
            FINAL if terms.phase == 'final' else DEBATE,
            terms.brief(memory, first),
            'What was said last:',
            said_lately(memory, terms.recent),
            WORDS if terms.words_only else RECORD,
        ]
    )


def said_lately(memory: DebateMemory, count: int) -> str:
    """The latest messages, each in a fence of its own."""
    words = [said for said in memory.transcript if not said.problem and not said.synthesized][-count:]
    shown = [fenced(_head(said), _body(said), MOST_SAID) for said in words]
    away = [f'{name} takes no part: {problem}' for name, problem in memory.debate.absent.items()]
    return '\n\n'.join([*shown, *away]) or 'Nothing yet.'


def synthesis_role() -> Role:
    """Who draws a result from a debate that found none."""
    return Role(
        name=SYNTHESIZER,
        title='Synthesizer',
        instructions=(
            'You draw a result from a debate whose speakers did not agree. You do not take part in it: weigh '
            'what was said by the facts it rests on, and keep every demand that nobody has refuted.'
        ),
    )


def synthesis(brief: Callable[[Any, bool], str], memory: DebateMemory) -> str:
    """What the synthesizer is asked."""
    words = [said for said in memory.heard() if said.position]
    shown = [fenced(_head(said), _body(said), MOST_SAID) for said in words]
    return '\n\n'.join(
        [
            'The reviewers did not agree. Say what should be done: which implementation is the best, and '
            'what has to be changed. You cannot approve in their place.',
            brief(memory, False),
            'The debate:',
            *shown,
        ]
    )


def _head(said: Said) -> str:
    when = f'round {said.round}' if said.round else 'first review'
    return f'{said.speaker}{" (a person)" if said.human else ""}, {when}'


def _body(said: Said) -> str:
    position = said.position
    if position is None:
        return said.text
    parts = [f'[{position.verdict}{f" {position.best}" if position.best else ""}] {said.text}']
    for name in ('concedes', 'insists', 'changes', 'rests_on'):
        points = getattr(position, name)
        if points:
            parts.append(f'{name.replace("_", " ")}:\n{listed(points)}')
    return '\n'.join(parts)

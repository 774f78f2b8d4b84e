"""A debate as states: reviewers' turns, a check after each, synthesis where no consensus was reached."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from engine.agent import Role, agent
from engine.debate import prompts, seats, steps
from engine.debate.records import Position
from engine.debate.terms import Terms
from engine.edge import edge, lost


def debate(name: str, terms: Terms) -> dict[str, Any]:
    """The state of a debate: done when it has a consensus, failed when no reviewer is left.

    It takes `take_seat`, `hand_back` and `say` for the reviewer whose turn it is; see `seat_edges`.
    """
    turns = [_turn(role, terms) for role in terms.reviewers]
    edges: list[Any] = [
        {
            'trigger': 'always',
            'source': 'checking',
            'dest': 'void',
            'conditions': partial(steps.is_void, terms),
        },
        {
            'trigger': 'always',
            'source': 'checking',
            'dest': 'agreed',
            'conditions': partial(steps.is_agreed, terms),
            'before': partial(steps.agree, terms),
        },
        ['always', 'checking', 'synthesizing', partial(steps.is_spent, terms)],
    ]
    for place, reviewer in enumerate(terms.names):
        edges.append(['always', 'checking', reviewer, partial(steps.is_turn, place)])
        edges.append(['done', reviewer, 'checking'])
        edges.append(['failed', reviewer, 'checking'])
    return {
        'name': name,
        'initial': 'checking',
        'on_enter': partial(steps.begin, terms),
        'children': [
            {'name': 'checking'},
            *turns,
            agent(
                'synthesizing',
                prompts.synthesis_role(),
                output=None if terms.words_only else Position,
                prompt=partial(prompts.synthesis, terms.brief),
                then=partial(steps.synthesize, terms),
                within=terms.seconds,
                retry=terms.retry,
            ),
            {'name': 'agreed', 'final': True},
            {'name': 'synthesized', 'final': True},
            {'name': 'void', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            *edges,
            ['done', 'synthesizing', 'synthesized'],
            *lost('synthesizing', 'synthesized', after=partial(steps.gather, terms)),
        ],
    }


def seat_edges(states: Sequence[str], reviewers: tuple[str, ...]) -> list[dict[str, Any]]:
    """What lets a person take a seat, or hand it back, while it is not that reviewer's turn.

    Args:
        states: the outermost states of the pattern in which it may be done.
        reviewers: their names; `take_seat` and `hand_back` name one as `reviewer`.
    """
    sit = partial(seats.may_sit, reviewers)
    return [
        *(edge('take_seat', state, None, sit, after=seats.sit) for state in states),
        *(edge('hand_back', state, None, seats.may_rise, after=seats.rise) for state in states),
    ]


def _turn(role: Role, terms: Terms) -> dict[str, Any]:
    me = role.name
    mine, taken = partial(seats.names_me, me), partial(seats.is_taken, me)
    return {
        'name': me,
        'initial': 'called',
        'children': [
            {'name': 'called'},
            agent(
                'speaking',
                role,
                output=None if terms.words_only else Position,
                prompt=partial(prompts.turn, me, terms),
                then=partial(steps.speak, me, terms),
                within=terms.seconds,
                retry=terms.retry,
            ),
            {'name': seats.PERSON, 'waits': 'word'},
            {'name': 'spoken', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            ['always', 'called', seats.PERSON, taken],
            ['always', 'called', 'speaking', None, taken],
            edge('take_seat', 'speaking', seats.PERSON, mine, after=seats.sit),
            edge('hand_back', seats.PERSON, 'speaking', mine, after=seats.rise),
            edge(
                'say', seats.PERSON, 'spoken', partial(seats.is_word, me), after=partial(steps.say, me, terms)
            ),
            ['done', 'speaking', 'spoken'],
            *lost('speaking', 'failed', after=partial(steps.drop, me, terms)),
        ],
    }

"""Debate states: reviewers take turns, each turn is checked, and without consensus one is synthesized."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.debate import prompts, seats, steps
from engine.patterns.debate.config import DebateConfig
from engine.patterns.debate.records import Position
from engine.patterns.seats import PERSON, is_held, is_taken, names_seat
from engine.statechart.edges import edge, failure_edges


def debate_state(name: str, config: DebateConfig) -> dict[str, Any]:
    """Return a debate's state: done on consensus or synthesis, failed when every reviewer has failed.

    It accepts `take_seat`, `hand_back` and `say` for the current reviewer; see `seat_edges`.
    """
    turns = [_reviewer_state(role, config) for role in config.reviewers]
    edges: list[Any] = [
        edge('always', 'checking', 'void', partial(steps.is_void, config)),
        edge(
            'always',
            'checking',
            'agreed',
            partial(steps.is_agreed, config),
            before=partial(steps.record_consensus, config),
        ),
        edge('always', 'checking', 'synthesizing', partial(steps.is_spent, config)),
    ]
    for place, reviewer in enumerate(config.names):
        edges.append(['always', 'checking', reviewer, partial(steps.is_turn, place)])
        edges.append(['done', reviewer, 'checking'])
        edges.append(['failed', reviewer, 'checking'])
    return {
        'name': name,
        'initial': 'checking',
        'on_enter': partial(steps.begin_debate, config),
        'children': [
            {'name': 'checking'},
            *turns,
            agent(
                'synthesizing',
                prompts.SYNTHESIS,
                output=None if config.words_only else Position,
                prompt=partial(prompts.synthesis_prompt, config.subject),
                then=partial(steps.record_synthesis, config),
                within=config.seconds,
            ),
            {'name': 'agreed', 'final': True},
            {'name': 'synthesized', 'final': True},
            {'name': 'void', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            *edges,
            ['done', 'synthesizing', 'synthesized'],
            *failure_edges('synthesizing', 'synthesized', after=partial(steps.record_rule_synthesis, config)),
        ],
    }


def seat_edges(states: Sequence[str], names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return transitions that let a person take or hand back a seat when it is not that agent's turn.

    Args:
        states: the pattern's outermost states in which this is allowed.
        names: the seats' names; `take_seat` and `hand_back` carry one as `seat`.
    """
    sit = partial(seats.may_sit, names)
    return [
        *(edge('take_seat', state, None, sit, after=seats.take_seat) for state in states),
        *(edge('hand_back', state, None, is_held, after=seats.hand_back) for state in states),
    ]


def _reviewer_state(role: Role, config: DebateConfig) -> dict[str, Any]:
    me = role.name
    is_for_reviewer, taken = partial(names_seat, me), partial(is_taken, me)
    return {
        'name': me,
        'initial': 'called',
        'children': [
            {'name': 'called'},
            agent(
                'speaking',
                role,
                folder=me,
                turns=config.turns,
                output=None if config.words_only else Position,
                prompt=partial(prompts.turn_prompt, me, config),
                then=partial(steps.record_turn, me, config),
                within=config.seconds,
            ),
            {'name': PERSON, 'waits': 'word', 'seat': me},
            {'name': 'spoken', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            ['always', 'called', PERSON, taken],
            ['always', 'called', 'speaking', None, taken],
            edge('take_seat', 'speaking', PERSON, is_for_reviewer, after=seats.take_seat),
            edge('hand_back', PERSON, 'speaking', is_for_reviewer, after=seats.hand_back),
            edge(
                'say',
                PERSON,
                'spoken',
                partial(seats.is_word, me),
                after=partial(steps.record_human_turn, me, config),
            ),
            ['done', 'speaking', 'spoken'],
            *failure_edges('speaking', 'failed', after=partial(steps.record_absence, me, config)),
        ],
    }

"""Debate states: reviewers take turns, each turn is checked, and without consensus one is synthesized."""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.debate import prompts, seats, steps
from engine.patterns.debate.config import DebateConfig
from engine.patterns.debate.records import Position
from engine.statechart.edges import edge, failure_edges


def debate_state(name: str, config: DebateConfig) -> dict[str, Any]:
    """Return a debate's state: done on consensus or synthesis, failed when every reviewer has failed.

    It accepts `take_seat`, `hand_back` and `say` for the current reviewer; see `seats.edges_of_all`.
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


def _reviewer_state(role: Role, config: DebateConfig) -> dict[str, Any]:
    me = role.name
    seat = seats.reviewer_seat(
        me, partial(steps.record_human_turn, me, config), agent='speaking', then='spoken', entry='called'
    )
    return {
        'name': me,
        'most_visits': config.rounds,
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
            seat.state,
            {'name': 'spoken', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            *seat.edges,
            ['done', 'speaking', 'spoken'],
            *failure_edges('speaking', 'failed', after=partial(steps.record_absence, me, config)),
        ],
    }

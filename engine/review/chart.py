"""States of a parallel review beside its debates: first reviews, picking, merging, revisions."""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.activity import Activity
from engine.agent import Role, agent
from engine.contest import coder, merging
from engine.contest.coder import SLACK, Desk
from engine.contest.evidence import Checks
from engine.course import Scope
from engine.debate.consensus import cleaned
from engine.debate.records import Position, Said
from engine.debate.words import position_of
from engine.edge import ENDS, edge, lost
from engine.records import Event
from engine.review import prompts
from engine.review.memory import Choice, ReviewMemory
from engine.review.parameters import ReviewParameters

CHOOSER = Role(
    name='chooser',
    title='Chooser',
    instructions='You pick one of several implementations by evidence, and say why.',
)
MERGER = Role(
    name='merger',
    title='Merger',
    instructions='You say which files of one implementation should be taken into another. Take few.',
)


def first_review(role: Role, parameters: ReviewParameters) -> dict[str, Any]:
    """A reviewer's region: it reads alone, before it hears the others."""
    words_only = parameters.answers == 'words'
    return {
        'name': role.name,
        'initial': 'reading',
        'children': [
            agent(
                'reading',
                role,
                output=None if words_only else Position,
                prompt=partial(prompts.review, words_only=words_only),
                then=partial(keep_review, role.name),
                within=parameters.reviewer_seconds,
            ),
            *ENDS,
        ],
        'transitions': [
            ['done', 'reading', 'done'],
            *lost('reading', 'failed', after=partial(miss_review, role.name)),
        ],
    }


def revision(desk: Desk) -> dict[str, Any]:
    """A coder's region in a revision: only those who are asked to revise go to work."""
    return coder.region(desk, called=partial(is_target, desk.coder))


def picking(parameters: ReviewParameters) -> dict[str, Any]:
    """The state in which the best one is picked: by rule at once, by a person, or by a model."""
    if parameters.pick == 'person':
        return {'name': 'picking', 'waits': 'choice'}
    if parameters.pick == 'model':
        return agent(
            'picking',
            CHOOSER,
            output=Choice,
            prompt=prompts.choose,
            then='take_model_choice',
            within=parameters.reviewer_seconds,
        )
    return {'name': 'picking', 'on_enter': 'pick'}


def picked(parameters: ReviewParameters) -> list[dict[str, Any]]:
    """Where picking leads: to merging, where files are to be taken over, else on."""
    ways: list[tuple[str, list[str], str | None]] = [('always', [], None)]
    if parameters.pick == 'person':
        ways = [('choose', ['is_candidate'], 'take_choice')]
    elif parameters.pick == 'model':
        ways = [('done', [], None), ('failed', [], 'pick'), ('expired', [], 'pick')]
    found = []
    for trigger, conditions, before in ways:
        if parameters.merge == 'files':
            found.append(edge(trigger, 'picking', 'merging', [*conditions, 'may_merge'], before=before))
        found.append(edge(trigger, 'picking', 'iterating', conditions, before=before))
    return found


def merge(parameters: ReviewParameters, checks: Checks) -> dict[str, Any]:
    """Files of others are taken into the folder of the best one: listed, settled, copied and tested."""
    by_person = parameters.files_by == 'person'
    listing = (
        {'name': 'listing', 'waits': 'files'}
        if by_person
        else agent(
            'listing',
            MERGER,
            output=merging.Plan,
            prompt=prompts.plan,
            then='take_plan',
            within=parameters.reviewer_seconds,
        )
    )
    heard = (
        [edge('take_files', 'listing', 'sorting', 'is_plan', after='take_plan')]
        if by_person
        else [
            ['done', 'listing', 'sorting'],
            *lost('listing', 'skipped', after='lose_plan'),
        ]
    )
    asks = parameters.conflicts == 'person'
    return {
        'name': 'merging',
        'initial': 'listing',
        'children': [
            listing,
            {'name': 'sorting'},
            *([{'name': 'resolving', 'waits': 'conflicts'}] if asks else []),
            {
                'name': 'copying',
                'invoke': partial(copy, checks),
                'within': 2 * checks.seconds + SLACK,
            },
            {'name': 'merged', 'final': True},
            {'name': 'skipped', 'final': True},
            {'name': 'refused', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            *heard,
            edge('always', 'sorting', 'resolving' if asks else 'refused', 'is_open'),
            edge('always', 'sorting', 'copying', 'has_plan'),
            edge('always', 'sorting', 'skipped'),
            *([edge('resolve', 'resolving', 'copying', 'settles', after='take_answers')] if asks else []),
            edge('done', 'copying', 'merged', after='keep_merged'),
            *lost('copying', 'skipped', after='lose_plan'),
        ],
    }


def is_target(name: str, scope: Scope, event: Event) -> bool:
    """This coder is asked to revise."""
    return name in _memory(scope).targets


def keep_review(me: str, scope: Scope, event: Event) -> None:
    """Keep a first review: they open the transcript."""
    memory = _memory(scope)
    if 'output' in event.data:
        position = cleaned(Position.model_validate(event.data['output']), memory.names())
    else:
        position = position_of(str(event.data['text']), memory.names())
    model = str(event.data.get('model', ''))
    memory.transcript.append(
        Said(speaker=me, model=model, phase='review', text=position.text, position=position)
    )


def miss_review(me: str, scope: Scope, event: Event) -> None:
    """A first review failed: its author may still take part in the debate."""
    problem = str(event.data.get('error') or 'it failed')
    _memory(scope).transcript.append(Said(speaker=me, phase='review', text='', problem=problem))


async def copy(checks: Checks, scope: Scope, activity: Activity) -> dict[str, object]:
    """Put the picked files into the folder of the best one, and run its tests."""
    memory = _memory(scope)
    taken = dict(memory.taken)
    return await merging.copy_files(checks, memory.best, taken, memory.candidates, activity)


def _memory(scope: Scope) -> ReviewMemory:
    memory = scope.state.memory
    assert isinstance(memory, ReviewMemory)
    return memory

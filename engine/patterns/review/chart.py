"""States of a parallel review outside its debates: first reviews, picking, merging, revisions."""

from __future__ import annotations

from functools import partial
from typing import Any

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.competition import merging
from engine.patterns.competition.coder import EXAMINATION_MARGIN
from engine.patterns.competition.evidence import Checks
from engine.patterns.debate import seats
from engine.patterns.debate.candidate_names import resolve_names
from engine.patterns.debate.position_parser import parse_position
from engine.patterns.debate.records import LineComment, Position, Utterance
from engine.patterns.review import prompts
from engine.patterns.review.memory import Choice, Comment, ReviewMemory
from engine.patterns.review.parameters import ReviewParameters
from engine.records import Event
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import FINAL_STATES, edge, failure_edges

CHOOSER = Role(
    name='chooser',
    title='Chooser',
    instructions='You pick the best of several implementations based on evidence, and say why.',
)
MERGER = Role(
    name='merger',
    title='Merger',
    instructions='You list the files to copy from some implementations into another. Keep the list short.',
)


def review_region(role: Role, parameters: ReviewParameters) -> dict[str, Any]:
    """Return a reviewer's region, in which it reviews alone before hearing the others."""
    words_only = parameters.answers == 'words'
    seat = seats.reviewer_seat(
        role.name, partial(store_human_review, role.name), agent='reading', everywhere=True
    )
    return {
        'name': role.name,
        'initial': 'reading',
        'children': [
            agent(
                'reading',
                role,
                folder=role.name,
                turns=prompts.REVIEWER_TURNS,
                output=None if words_only else Position,
                prompt=partial(prompts.review_prompt, words_only=words_only),
                then=partial(store_review, role.name),
                within=parameters.reviewer_seconds,
            ),
            seat.state,
            *FINAL_STATES,
        ],
        'transitions': [
            *seat.edges,
            ['done', 'reading', 'done'],
            *failure_edges('reading', 'failed', after=partial(record_failed_review, role.name)),
        ],
    }


def picking_state(parameters: ReviewParameters) -> dict[str, Any]:
    """Return the state that picks the best: immediately by rule, by a person, or by a model."""
    if parameters.pick == 'person':
        return {'name': 'picking', 'waits': 'choice'}
    if parameters.pick == 'model':
        return agent(
            'picking',
            CHOOSER,
            output=Choice,
            prompt=prompts.choice_prompt,
            then='apply_model_choice',
            within=parameters.reviewer_seconds,
        )
    return {'name': 'picking', 'on_enter': 'pick_by_rule'}


def picking_edges(parameters: ReviewParameters) -> list[dict[str, Any]]:
    """Return the transitions from picking: to merging if files may be merged, otherwise onward."""
    triggers: list[tuple[str, list[str], str | None]] = [('always', [], None)]
    if parameters.pick == 'person':
        triggers = [('choose', ['is_candidate'], 'apply_choice')]
    elif parameters.pick == 'model':
        triggers = [('done', [], None), ('failed', [], 'pick_by_rule'), ('expired', [], 'pick_by_rule')]
    edges = []
    for trigger, conditions, before in triggers:
        if parameters.merge == 'files':
            edges.append(edge(trigger, 'picking', 'merging', [*conditions, 'may_merge'], before=before))
        edges.append(edge(trigger, 'picking', 'iterating', conditions, before=before))
    return edges


def merging_state(parameters: ReviewParameters, checks: Checks) -> dict[str, Any]:
    """Return the state that merges files into the best candidate: list, settle, copy and test them."""
    by_person = parameters.files_by == 'person'
    listing = (
        {'name': 'listing', 'waits': 'files'}
        if by_person
        else agent(
            'listing',
            MERGER,
            output=merging.MergePlan,
            prompt=prompts.merge_prompt,
            then='store_merge_plan',
            within=parameters.reviewer_seconds,
        )
    )
    listing_edges = (
        [edge('take_files', 'listing', 'sorting', 'is_plan', after='store_merge_plan')]
        if by_person
        else [
            ['done', 'listing', 'sorting'],
            *failure_edges('listing', 'skipped', after='record_merge_failure'),
        ]
    )
    asks_person = parameters.conflicts == 'person'
    return {
        'name': 'merging',
        'initial': 'listing',
        'children': [
            listing,
            {'name': 'sorting'},
            *([{'name': 'resolving', 'waits': 'conflicts'}] if asks_person else []),
            {
                'name': 'copying',
                'invoke': partial(copy_selected_files, checks),
                'within': 2 * checks.seconds + EXAMINATION_MARGIN,
            },
            {'name': 'merged', 'final': True},
            {'name': 'skipped', 'final': True},
            {'name': 'refused', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            *listing_edges,
            edge('always', 'sorting', 'resolving' if asks_person else 'refused', 'is_open'),
            edge('always', 'sorting', 'copying', 'has_plan'),
            edge('always', 'sorting', 'skipped'),
            *(
                [edge('resolve', 'resolving', 'copying', 'settles', after='resolve_conflicts')]
                if asks_person
                else []
            ),
            edge('done', 'copying', 'merged', after='add_merged_version'),
            *failure_edges('copying', 'skipped', after='record_merge_failure'),
        ],
    }


def is_target(name: str, scope: CallbackContext, event: Event) -> bool:
    """This coder is asked to revise."""
    return name in _memory(scope).targets


def store_review(me: str, scope: CallbackContext, event: Event) -> None:
    """Store a first review; first reviews open the transcript."""
    memory = _memory(scope)
    if 'output' in event.data:
        position = Position.model_validate(event.data['output'])
    else:
        position = parse_position(str(event.data['text']), memory.names())
    position = resolve_names(position, memory.names())
    model = str(event.data.get('model', ''))
    _record_utterance(
        memory, Utterance(speaker=me, model=model, phase='review', text=position.text, position=position)
    )


def store_human_review(me: str, scope: CallbackContext, event: Event) -> None:
    """Store a person's turn in a reviewer's seat as that reviewer's first review."""
    memory = _memory(scope)
    position = seats.parse_turn(event.data, memory.names())
    _record_utterance(
        memory,
        Utterance(speaker=me, phase='review', text=position.text, position=position, human=True),
    )


def record_failed_review(me: str, scope: CallbackContext, event: Event) -> None:
    """Record a failed first review; its author may still join the debate."""
    problem = str(event.data.get('error') or 'it failed')
    _record_utterance(_memory(scope), Utterance(speaker=me, phase='review', text='', problem=problem))


def _record_utterance(memory: ReviewMemory, utterance: Utterance) -> None:
    """Add a first review, in the order of the reviewers rather than of completion."""
    later = sum(other.speaker > utterance.speaker for other in memory.transcript)
    if later:
        memory.transcript.insert(len(memory.transcript) - later, utterance)
    else:
        memory.transcript.append(utterance)


def add_comment(memory: ReviewMemory, comment: LineComment, *, by: str) -> None:
    """Store a comment on a line of a candidate's newest version, without duplicates."""
    candidate = memory.candidates.get(comment.candidate)
    version = candidate.latest if candidate else None
    if version is None or comment.path not in {file.path for file in version.files}:
        return
    new_comment = Comment(**comment.model_dump(), version=version.number, by=by)
    if new_comment not in memory.comments:
        memory.comments.append(new_comment)


def store_comments(memory: ReviewMemory) -> None:
    """Store the comments that reviewers made in the finished debate."""
    first, debate = len(memory.consensuses) < 2, memory.debate.number
    for utterance in memory.transcript:
        if utterance.position and (first or utterance.debate == debate):
            for comment in utterance.position.comments:
                add_comment(memory, comment, by=utterance.speaker)


def send_comments(memory: ReviewMemory) -> None:
    """Send the open comments on their files to the coders who revise next."""
    for place, comment in enumerate(memory.comments):
        if not comment.sent and comment.candidate in memory.targets:
            memory.comments[place] = comment.model_copy(update={'sent': memory.revision_count})


async def copy_selected_files(
    checks: Checks, scope: CallbackContext, activity: Activity
) -> dict[str, object]:
    """Copy the picked files into the best candidate's folder and run its tests."""
    memory = _memory(scope)
    taken = dict(memory.taken)
    return await merging.copy_files(checks, memory.best, taken, memory.candidates, activity)


def _memory(scope: CallbackContext) -> ReviewMemory:
    memory = scope.state.memory
    assert isinstance(memory, ReviewMemory)
    return memory

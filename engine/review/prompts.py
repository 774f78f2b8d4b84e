"""The prompts of a parallel review: to coders, to reviewers, to who picks and who merges."""

from __future__ import annotations

from engine.agent import Role
from engine.contest.gather import MOST_CHANGED, MOST_WORK, failures, results
from engine.contest.records import Version
from engine.debate.fence import RULE, fenced, listed
from engine.debate.prompts import WORDS
from engine.review.memory import ReviewMemory

REVIEWER = (
    'You review implementations of one task that were made independently. You judge them by correctness, '
    'by how well they are tested, and by how readable they are, in this order. You trust a test that was run '
    'more than any sentence. ' + RULE
)


def reviewer(name: str) -> Role:
    """Who a reviewer is."""
    return Role(name=name, title=name.capitalize(), instructions=REVIEWER)


def revise(coder: str, memory: ReviewMemory) -> str:
    """A coder's task when its work came back."""
    candidate, consensus = memory.candidates[coder], memory.consensus
    version = candidate.latest
    assert version is not None
    parts = [f'Task:\n{memory.task}', f'Your folder holds version {version.number} of your implementation.']
    parts.append(f'The tests of it:\n{_tests(version)}')
    if candidate.problem:
        parts.append(f'Your latest attempt came to nothing: {candidate.problem}')
    if version.merged:
        listed_files = listed(f'{path} from {whom}' for path, whom in version.merged.items())
        parts.append(f'These files were taken from other implementations:\n{listed_files}')
    if consensus:
        whose = 'A result drawn from' if consensus.synthesized else 'The consensus of'
        parts.append(f'{whose} the reviewers:\n{fenced("what they say", consensus.text)}')
    parts.append(f'What you have to change:\n{listed(demands(memory), "- What they say, above.")}')
    parts.append('Revise your implementation. Leave alone what nobody objects to.')
    return '\n\n'.join(parts)


def demands(memory: ReviewMemory) -> tuple[str, ...]:
    """What a revision has to meet: the demands of the last debate, and what an approval was refused for."""
    changes = memory.consensus.changes if memory.consensus else ()
    return tuple(dict.fromkeys([*changes, *memory.refusals[-1:]]))


def brief(memory: ReviewMemory, first: bool) -> str:
    """What a debate is about: the task, the tests, and for those who see it first, the files."""
    asked = demands(memory) if memory.revision_count else ()
    parts = [
        f'Task:\n{memory.task}',
        f'The tests, as they were run:\n{results(memory.candidates.values())}',
    ]
    if asked and memory.consensuses:
        parts.append(f'What the last consensus asked for:\n{listed(asked)}')
    if first:
        shown = memory.targets if memory.debate.phase == 'final' else memory.in_play()
        parts += [_exhibit(name, memory) for name in shown if name in memory.exhibits]
    return '\n\n'.join(parts)


def review(memory: ReviewMemory, *, words_only: bool) -> str:
    """The task of the first review."""
    return '\n\n'.join(
        [
            f'Review these {len(memory.in_play())} implementations. Give a detailed critique of each, rank '
            'them, and say what has to be changed in the best one.',
            brief(memory, True),
            *([WORDS] if words_only else []),
        ]
    )


def choose(memory: ReviewMemory) -> str:
    """The task of the model that picks the best."""
    return '\n\n'.join(
        [
            'Pick the best of these implementations, by what the reviewers say and what the tests show. '
            'Answer with its name.',
            brief(memory, True),
            _verdict(memory),
        ]
    )


def plan(memory: ReviewMemory) -> str:
    """The task of the model that lists the files to take over."""
    return '\n\n'.join(
        [
            f'{memory.best} goes on. Say which files of the others should be taken into its folder, as they '
            'are; take none if that would help nothing.',
            brief(memory, True),
            _verdict(memory),
        ]
    )


def _verdict(memory: ReviewMemory) -> str:
    consensus = memory.consensus
    return f'The reviewers:\n{fenced("what they say", consensus.text)}' if consensus else ''


def _exhibit(name: str, memory: ReviewMemory) -> str:
    exhibit, version = memory.exhibits[name], memory.candidates[name].latest
    parts = [fenced(f'the files of {name}, version {exhibit.version}', exhibit.text, MOST_WORK + 10_000)]
    if version and version.said:
        parts.append(fenced(f'what {name} says of it', version.said, 4_000))
    if exhibit.changed:
        parts.append(fenced(f'what {name} changed since its last version', exhibit.changed, MOST_CHANGED))
    return '\n'.join(parts)


def _tests(version: Version) -> str:
    evidence = version.evidence
    lines = [f'Required: {evidence.required.line}. Your own: {evidence.own.line}.']
    failing = failures(evidence.required) or failures(evidence.own)
    return '\n'.join([*lines, fenced('what failed', failing)] if failing else lines)

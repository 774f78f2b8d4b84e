"""The prompts of a parallel review, for coders, reviewers, and those who pick and merge."""

from __future__ import annotations

from collections.abc import Iterable

from engine.agents.spec import Role
from engine.patterns.competition.collect import (
    MAX_CHANGED,
    MAX_WORK,
    describe_copies,
    list_failures,
    summarize_tests,
)
from engine.patterns.competition.records import Version
from engine.patterns.debate.prompts import WORDS
from engine.patterns.debate.quoting import RULE, bullet_list, fence
from engine.patterns.review.memory import Comment, ReviewMemory

REVIEWER = (
    'You review implementations of one task that were made independently. You judge them by correctness, '
    'by how well they are tested, and by how readable they are, in this order. You trust a test that was run '
    'more than any sentence. ' + RULE
)


TOOLS = ('list_files', 'read_file', 'search', 'test_candidate', 'compare_candidates')
REVIEWER_TURNS = 24


def reviewer_role(name: str, *, tools: bool) -> Role:
    """Return the role of a reviewer, with `TOOLS` or none."""
    return Role(name=name, title=name.capitalize(), instructions=REVIEWER, tools=TOOLS if tools else ())


def revision_prompt(coder: str, memory: ReviewMemory) -> str:
    """Return a coder's task in a revision."""
    candidate, consensus = memory.candidates[coder], memory.consensus
    version = candidate.latest
    assert version is not None
    parts = [f'Task:\n{memory.task}', f'Your folder holds version {version.number} of your implementation.']
    parts.append(f'The tests of it:\n{_describe_tests(version)}')
    if candidate.problem:
        parts.append(f'Your latest attempt came to nothing: {candidate.problem}')
    if version.merged:
        listed_files = bullet_list(f'{path} from {coder_name}' for path, coder_name in version.merged.items())
        parts.append(f'These files were taken from other implementations:\n{listed_files}')
    if consensus:
        whose = (
            'A result drawn from the reviewers' if consensus.synthesized else 'The consensus of the reviewers'
        )
        if len(consensus.by) == 1:
            whose = 'What the reviewer says'
        parts.append(f'{whose}:\n{fence("what they say", consensus.text)}')
    parts.append(f'What you have to change:\n{bullet_list(demands(memory), "- What they say, above.")}')
    if comments := [
        comment for comment in memory.comments if comment.candidate == coder and _is_due(comment, memory)
    ]:
        parts.append(
            f'Comments on lines of your files; heed each:\n{fence("comments", _list_comments(comments))}'
        )
    parts.append('Revise your implementation. Leave alone what nobody objects to.')
    return '\n\n'.join(parts)


def _is_due(comment: Comment, memory: ReviewMemory) -> bool:
    return 0 < comment.sent == memory.revision_count


def _list_comments(comments: Iterable[Comment]) -> str:
    return '\n'.join(
        f'- {comment.path}, line {comment.line} of version {comment.version} '
        f'({comment.by or "a person"}): {comment.text}'
        for comment in comments
    )


def revision_demands(coder: str, memory: ReviewMemory) -> tuple[str, ...]:
    """Return what a coder's revision must address: the demands, and the comments sent to it."""
    due = (comment for comment in memory.comments if comment.candidate == coder and _is_due(comment, memory))
    return (*demands(memory), *(f'{comment.path}, line {comment.line}: {comment.text}' for comment in due))


def demands(memory: ReviewMemory) -> tuple[str, ...]:
    """Return a revision's demands: those of the last debate, and why an approval was last rejected."""
    changes = memory.consensus.changes if memory.consensus else ()
    return tuple(dict.fromkeys([*changes, *memory.refusals[-1:]]))


def debate_subject(memory: ReviewMemory, first: bool, *, tools: bool = False) -> str:
    """Describe the subject of a debate: the task, the test results and, on a first turn, the files."""
    current_demands = demands(memory) if memory.revision_count else ()
    parts = [
        f'Task:\n{memory.task}',
        f'The tests, as they were run:\n{summarize_tests(memory.candidates.values())}',
    ]
    if current_demands and memory.consensuses:
        parts.append(f'What the last consensus asked for:\n{bullet_list(current_demands)}')
    if first and tools and memory.revision > 1:
        parts.append(
            f'Your folder holds copies of them: {describe_copies(memory.candidates.values())}. '
            'Read and search them, run their tests, and compare them: what is shown below may be cut, and '
            'the copies are whole.'
        )
    if comments := [comment for comment in memory.comments if not comment.by and not comment.sent]:
        parts.append(f'Comments of people, not heeded yet:\n{fence("comments", _list_comments(comments))}')
    if first:
        names = memory.targets if memory.debate.phase == 'final' else memory.in_play()
        parts += [_exhibit(name, memory) for name in names if name in memory.exhibits]
    return '\n\n'.join(parts)


def review_prompt(memory: ReviewMemory, *, words_only: bool) -> str:
    """Return the task of the first review."""
    count = len(memory.in_play())
    return '\n\n'.join(
        [
            f'Review these {count} implementations. Give a detailed critique of each, rank '
            'them, and say what has to be changed in the best one.'
            if count > 1
            else 'Review this implementation. Give a detailed critique, and say what has to be changed.',
            debate_subject(memory, True, tools=not words_only),
            *([WORDS] if words_only else []),
        ]
    )


def choice_prompt(memory: ReviewMemory) -> str:
    """Return the task of the model that picks the best."""
    return '\n\n'.join(
        [
            'Pick the best of these implementations, by what the reviewers say and what the tests show. '
            'Answer with its name.',
            debate_subject(memory, True),
            _consensus_section(memory),
        ]
    )


def merge_prompt(memory: ReviewMemory) -> str:
    """Return the task of the model that lists the files to take."""
    return '\n\n'.join(
        [
            f'{memory.best} goes on. Say which files of the others should be taken into its folder, as they '
            'are; take none if that would help nothing.',
            debate_subject(memory, True),
            _consensus_section(memory),
        ]
    )


def _consensus_section(memory: ReviewMemory) -> str:
    consensus = memory.consensus
    return f'The reviewers:\n{fence("what they say", consensus.text)}' if consensus else ''


def _exhibit(name: str, memory: ReviewMemory) -> str:
    exhibit, version = memory.exhibits[name], memory.candidates[name].latest
    parts = [fence(f'the files of {name}, version {exhibit.version}', exhibit.text, MAX_WORK + 10_000)]
    if version and version.said:
        parts.append(fence(f'what {name} says of it', version.said, 4_000))
    if exhibit.changed:
        parts.append(fence(f'what {name} changed since its last version', exhibit.changed, MAX_CHANGED))
    return '\n'.join(parts)


def _describe_tests(version: Version) -> str:
    evidence = version.evidence
    lines = [f'Required: {evidence.required.line}. Your own: {evidence.own.line}.']
    failing = list_failures(evidence.required) or list_failures(evidence.own)
    return '\n'.join([*lines, fence('what failed', failing)] if failing else lines)

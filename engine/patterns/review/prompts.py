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
from engine.patterns.review.memory import Comment, ReviewMemory
from engine.statechart.expressions.quoting import RULE, bullet_list, fence

REVIEWER = (
    'You review independent implementations of one task. Judge them by correctness first, then by how well '
    'they are tested, then by readability. Trust tests that were run more than any claim. ' + RULE
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
    parts.append(f'Its test results:\n{_describe_tests(version)}')
    if candidate.problem:
        parts.append(f'Your latest attempt failed: {candidate.problem}')
    if version.merged:
        listed_files = bullet_list(f'{path} from {coder_name}' for path, coder_name in version.merged.items())
        parts.append(f'These files were taken from other implementations:\n{listed_files}')
    if consensus:
        heading = 'A synthesis of the reviews' if consensus.synthesized else "The reviewers' consensus"
        if len(consensus.by) == 1:
            heading = 'The review'
        parts.append(f'{heading}:\n{fence("review", consensus.text)}')
    if changes := demands(memory):
        parts.append(f'What you must change:\n{bullet_list(changes)}')
    if comments := [
        comment for comment in memory.comments if comment.candidate == coder and _is_due(comment, memory)
    ]:
        parts.append(
            f'Comments on lines of your files; address each:\n{fence("comments", _list_comments(comments))}'
        )
    parts.append('Revise your implementation. Do not change what nobody objected to.')
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
        f'Test results:\n{summarize_tests(memory.candidates.values())}',
    ]
    if current_demands and memory.consensuses:
        parts.append(f'Changes that the last consensus asked for:\n{bullet_list(current_demands)}')
    if first and tools:
        parts.append(
            f'Your folder holds copies of them: {describe_copies(memory.candidates.values())}. '
            'Read and search them, run their tests, and compare them. The text below may be cut; the copies '
            'are complete.'
        )
    if comments := [comment for comment in memory.comments if not comment.by and not comment.sent]:
        parts.append(f'Comments by people, not addressed yet:\n{fence("comments", _list_comments(comments))}')
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
            'them, and say what must change in the best one.'
            if count > 1
            else 'Review this implementation. Give a detailed critique, and say what must change.',
            debate_subject(memory, True, tools=not words_only),
            *([WORDS] if words_only else []),
        ]
    )


def choice_prompt(memory: ReviewMemory) -> str:
    """Return the task of the model that picks the best."""
    return '\n\n'.join(
        [
            'Pick the best of these implementations, based on the reviews and the test results. '
            'Answer with its name.',
            debate_subject(memory, True),
            _consensus_section(memory),
        ]
    )


def merge_prompt(memory: ReviewMemory) -> str:
    """Return the task of the model that lists the files to take."""
    return '\n\n'.join(
        [
            f'{memory.best} was picked. List the files of the others that should be copied into its folder '
            'unchanged; list none if that would not help.',
            debate_subject(memory, True),
            _consensus_section(memory),
        ]
    )


def _consensus_section(memory: ReviewMemory) -> str:
    consensus = memory.consensus
    return f'The reviewers:\n{fence("review", consensus.text)}' if consensus else ''


def _exhibit(name: str, memory: ReviewMemory) -> str:
    exhibit, version = memory.exhibits[name], memory.candidates[name].latest
    parts = [fence(f'the files of {name}, version {exhibit.version}', exhibit.text, MAX_WORK + 10_000)]
    if version and version.said:
        parts.append(fence(f'what {name} says about it', version.said, 4_000))
    if exhibit.changed:
        parts.append(fence(f'changes by {name} since its previous version', exhibit.changed, MAX_CHANGED))
    return '\n'.join(parts)


def _describe_tests(version: Version) -> str:
    evidence = version.evidence
    lines = [f'{evidence.line[0].upper()}{evidence.line[1:]}.']
    failing = list_failures(evidence.required) or list_failures(evidence.own)
    return '\n'.join([*lines, fence('failed tests', failing)] if failing else lines)

"""Helpers for tests of contests and debates: actors by role, positions, and tests decided by a word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import Catalog, Conductor, LocalConductor, Pattern
from engine.errors import ModelError
from engine.journal import MemoryJournal
from engine.models.protocol import ModelRequest
from engine.patterns.review.pattern import ParallelReview
from engine.records import Outcome, RunId
from engine.workspace import CommandResult, Sandbox, Workspace
from tests.support.harness import FakeModel, HastyClock, calls, to_the_end

TOOLS = Catalog.load().tools
TASK = 'Write a module that adds.'


class WordSandbox(Sandbox):
    """Runs nothing: a folder passes if its file work.txt does not say `bad`."""

    async def run(
        self, command: Sequence[str], workspace: Workspace, *how: Any, **more: Any
    ) -> CommandResult:
        mark = command[4]
        text = (await workspace.read('work.txt')).decode()
        return CommandResult(
            code=int('bad' in text), output=f'{text}\n{mark}\n', ended='exit', seconds=0.1, unsafe=False
        )


def position(verdict: str, best: str = '', *, agrees: bool = True, **more: Any) -> dict[str, Any]:
    return {'text': f'{verdict} {best}', 'verdict': verdict, 'best': best, 'agrees': agrees, **more}


BEST = position('REVISE_BEST', 'coder1')
BROKEN = ModelError('no such key', kind='auth')


def writing(text: str, *more: tuple[str, str]) -> Callable[[ModelRequest], Any]:
    """A coder that writes its files, and is done."""
    files = [('work.txt', text), *more]

    def reply(request: ModelRequest) -> Any:
        if request.messages[-1].role == 'tool':
            return f'I wrote {text}.'
        return calls(*(('write_file', {'path': path, 'text': content}) for path, content in files))

    return reply


def actors(script: Mapping[str, Any]) -> Callable[[ModelRequest], Any]:
    """Replies by state or by role; a list holds one for each visit, and its last is repeated.

    Coders that are not in the script write `good` and their name.
    """

    def reply(request: ModelRequest) -> Any:
        hints = request.hints
        answer = script.get(hints.state, script.get(hints.role))
        if answer is None and hints.role.startswith('coder'):
            answer = writing(f'good {hints.role} {hints.state} {hints.visit}')
        if isinstance(answer, list):
            answer = answer[min(hints.visit, len(answer)) - 1]
        return answer(request) if callable(answer) else answer

    return reply


def everybody(*verdicts: Any, reviewers: int = 2, **script: Any) -> dict[str, Any]:
    """Reviewers who all give these verdicts, in the debate and in each final review."""
    first, *later = verdicts
    states: dict[str, Any] = {}
    for number in range(1, reviewers + 1):
        me = f'reviewer{number}'
        states[f'reviewing.{me}.reading'] = first
        states[f'debating.{me}.speaking'] = first
        states[f'final_review.{me}.speaking'] = later or [position('APPROVE')]
    return states | script


def plan(*picks: tuple[str, str]) -> dict[str, Any]:
    """A plan to merge these files, each with its coder."""
    return {'files': [{'path': path, 'coder': coder} for path, coder in picks], 'why': 'w'}


TWICE = plan(('extra.py', 'coder3'), ('extra.py', 'coder2'))
"""A plan with a conflict."""


def merging(**script: Any) -> dict[str, Any]:
    """Coders who each write another `extra.py`; coder1 is the best."""
    extra = {f'coder{n}': writing(f'good {n}', ('extra.py', f'x = {n}\n')) for n in (1, 2, 3)}
    again = {'revising.coder1.working': writing('good again', ('extra.py', 'x = 1\n'))}
    return everybody(BEST, **extra, **again, **script)


def review_catalog(model: FakeModel, *patterns: type[Pattern]) -> Catalog:
    return Catalog(
        patterns={pattern.name: pattern for pattern in (ParallelReview, *patterns)},
        models={'scripted': model},  # type: ignore[dict-item]
        tools=dict(TOOLS),
    )


def review_conductor(
    script: Mapping[str, Any] | FakeModel, *, journal: Any = None, clock: Any = None, root: Path | None = None
) -> Conductor:
    model = script if isinstance(script, FakeModel) else FakeModel(actors(script))
    return LocalConductor(
        journal or MemoryJournal(),
        catalog=review_catalog(model),
        clock=clock or HastyClock(),
        sandbox=WordSandbox(),
        workspaces=root,
    )


async def play_review(script: Mapping[str, Any] | FakeModel, **parameters: Any) -> tuple[Outcome, list[str]]:
    """Play a parallel review to its end and audit it; returns the outcome and the outermost states."""
    async with review_conductor(script) as conductor:
        run = await begin(conductor, **parameters)
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
        return outcome, await phases(conductor, run)


async def begin(conductor: Conductor, **parameters: Any) -> RunId:
    return (await conductor.start('parallel-review', {'task': TASK, 'command': 'check', **parameters})).id


async def phases(conductor: Conductor, run: RunId) -> list[str]:
    """The outermost states that were entered, in order."""
    return [path for step in await conductor.transitions(run) for path in step.entered if '.' not in path]

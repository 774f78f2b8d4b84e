"""Results that agents make together: drafts that rise, tasks shared out, a session on the clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from engine.patterns import GATE_TITLES, Draft, Review, TaskResult, VerificationResult
from engine.records import View
from engine.statechart import read_leniently
from ui.formatting.results.blocks import Bar, Bars, Block, Fact, Facts, Points, Prose, Result, Row, Rows
from ui.formatting.results.contests import Times
from ui.formatting.steps import duration, role_title
from ui.formatting.values import as_sentence, count, first_sentence

MAX_SCORE = 100
"""The highest score a reviewer gives."""


def read_revisions(view: View, field: str, times: Times) -> Result:
    """Return a pipeline's answer, and how its score rose from draft to draft."""
    drafts = read_leniently(list[Draft], view.memory.get(field))
    reviews = read_leniently(list[Review], view.memory.get('reviews'))
    bars = tuple(
        Bar(
            label=f'Draft {number}',
            value=review.score if review else 0,
            words=str(review.score) if review else 'not reviewed',
            note=review.summary if review else '',
            tone='good' if review and review.approved else '',
        )
        for number, (_, review) in enumerate(zip(drafts, chain(reviews, repeat(None)), strict=False), start=1)
    )
    aside: list[Block] = [Bars(title='Score by revision', most=MAX_SCORE, bars=bars)] if bars else []
    approved = bool(reviews) and reviews[-1].approved
    if reviews and not approved and reviews[-1].comments:
        aside.append(Points(title='Still open', points=tuple(reviews[-1].comments)))
    headline = ''
    if reviews:
        revisions = count(len(drafts) - 1, 'revision') if len(drafts) > 1 else ''
        after = f'after {revisions}' if revisions else 'without a revision'
        headline = (
            f'{"Approved" if approved else "Not approved"} {after}, with a score of {reviews[-1].score}'
        )
    text = str(view.memory.get('analysis') or '')
    return Result(headline=headline, main=(Prose(text=text),) if text else (), aside=tuple(aside))


def read_shares(view: View, field: str, times: Times) -> Result:
    """Return a supervisor's answer, and what each worker contributed."""
    results = read_leniently(list[TaskResult], view.memory.get(field))
    titles = {step.get('id'): str(step.get('title', '')) for step in _leaves(view.memory.get('steps'))}
    by_worker: dict[str, list[TaskResult]] = {}
    for result in results:
        by_worker.setdefault(result.agent_role, []).append(result)
    rows = tuple(
        Row(
            name=role_title(worker),
            facts=(
                f'{sum(result.success for result in done)} of {count(len(done), "task")}',
                ', '.join(result.task_id for result in done),
            ),
            note=next(
                (as_sentence(result.output) for result in done if not result.success),
                ' '.join(titles.get(result.task_id, '') for result in done),
            ),
            tone='good' if all(result.success for result in done) else 'bad',
        )
        for worker, done in by_worker.items()
    )
    done = sum(result.success for result in results)
    headline = f'{done} of {count(len(results), "task")} done' if results else ''
    text = str(view.memory.get('final_output') or '')
    plan = view.memory.get('plan')
    if not text and isinstance(plan, Mapping):
        headline = str(plan.get('approach') or '')
    return Result(
        headline=headline,
        main=(Prose(text=text),) if text else (),
        aside=(Rows(title='Shares', rows=rows),) if rows else (),
    )


def read_session(view: View, field: str, times: Times) -> Result:
    """Return a session on the clock: its goal, steps, time, and the gates that they passed."""
    memory = view.memory
    steps = list(_leaves(memory.get(field)))
    done = sum(step.get('state') == 'completed' for step in steps)
    verdicts = read_leniently(list[VerificationResult], memory.get('verifications'))
    passed = Counter(verdict.gate for verdict in verdicts if verdict.passed)
    given = Counter(verdict.gate for verdict in verdicts)
    limit = read_leniently(float, memory.get('time_limit'))
    clock = read_leniently(dict[str, Any], memory.get('clock'))
    stopped = read_leniently(float, clock.get('stopped'))
    took = stopped or max(view.ran - view.inherited_ran, 0.0)
    tests = str(memory.get('final_tests') or '')
    facts = [
        Fact(
            name='Goal',
            words='reached' if memory.get('verified') else 'not reached',
            tone='good' if memory.get('verified') else 'bad',
        ),
        Fact(name='Steps', words=f'{done} of {len(steps)}', tone='good' if done == len(steps) else 'bad'),
        Fact(name='Time', words=f'{duration(took)} of {duration(limit)}'),
    ]
    if tests:
        facts.append(Fact(name='Tests', words=tests, tone='good' if memory.get('final_pass') else 'bad'))
    rows = tuple(
        Row(
            mark=str(step.get('id', '')),
            name=str(step.get('title', '')),
            facts=(str(step.get('state', '')),),
            note=first_sentence(str(step.get('result') or '')),
            tone={'completed': 'good', 'failed': 'bad'}.get(str(step.get('state')), ''),  # type: ignore[arg-type]
        )
        for step in steps
    )
    gates = tuple(
        Bar(
            label=GATE_TITLES.get(gate, gate),
            value=passed[gate],
            words=f'{passed[gate]} of {number} passed',
            tone='good' if passed[gate] == number else '',
        )
        for gate, number in given.items()
    )
    aside = (Bars(title='Gates', most=max(given.values()), bars=gates),) if gates else ()
    main: list[Block] = [Facts(facts=tuple(facts))]
    if rows:
        main.append(Rows(title='Steps', rows=rows))
    return Result(headline=str(memory.get('reason') or ''), main=tuple(main), aside=aside)


def _leaves(steps: Any) -> Sequence[Mapping[str, Any]]:
    """Return the steps that were worked on: parts of a step instead of the step itself."""
    listed = [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, (list, tuple)) else []
    return [leaf for step in listed for leaf in (_leaves(step.get('steps')) or [step])]

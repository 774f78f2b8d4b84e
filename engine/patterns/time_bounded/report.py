"""The final report: a typed record built from memory alone, and its Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.patterns.time_bounded.memory.plan import nest_plans
from engine.patterns.time_bounded.memory.schedule import PHASES
from engine.records import StatedReport, Status, View
from engine.records.frozen import FrozenModel

ENDINGS = ('completed', 'failed', 'aborted', 'time_expired')
FORK_TO_CONTINUE = 'To continue, fork the run at the step before its end.'


class StepReport(FrozenModel):
    """A step and its result, with the steps of its sub-plan."""

    id: str
    description: str
    complexity: str
    status: str
    attempts: int
    fix_cycles: int
    seconds: float
    files: tuple[str, ...] = ()
    tests: str = ''
    score: int | None = None
    evidence: str = ''
    reason: str = ''
    degraded: bool = False
    steps: tuple[StepReport, ...] = ()


class PlanReport(FrozenModel):
    """A plan for the goal; each round has one."""

    id: str
    analysis: str
    status: str
    steps: tuple[StepReport, ...]


class Report(FrozenModel):
    """The final report."""

    goal: str
    outcome: str
    """A status: `completed`, `failed`, `aborted` or `time_expired`; `cancelled` if a person cancelled it."""
    reason: str
    verified: bool
    plans: tuple[PlanReport, ...]
    evidence: str
    metrics: Mapping[str, int]
    time_limit: float
    used: float
    """Seconds used of the limit, including those between phases."""
    seconds: Mapping[str, float]
    """Per phase, over all rounds."""
    rounds: int
    messages: Mapping[str, int]
    """Number of messages by type."""
    escalations: tuple[str, ...]
    agents: Mapping[str, Mapping[str, float]]
    degraded: tuple[str, ...]
    """Where fallbacks replaced agents."""
    files: tuple[str, ...]
    remaining: tuple[str, ...]
    next: tuple[str, ...]
    """How to continue."""


def build_statement(view: View) -> StatedReport:
    """Return the report as people read it, at any step; rebuilt if the run was ended from outside."""
    memory = view.memory
    if 'clock' not in memory:  # Before the first step.
        return StatedReport(final=False)
    report = build_report(memory, status=view.status, error=view.error)
    cut_short = _is_cut_short(memory, view.status)
    written = '' if cut_short else str(memory['report'])
    return StatedReport(
        text=written or render_report(report),
        data=report.model_dump(mode='json'),
        final=cut_short or bool(written),
    )


def build_report(memory: Mapping[str, Any], *, status: Status = Status.RUNNING, error: str = '') -> Report:
    """Build the report of a run, at any step.

    Args:
        memory: a view's memory (plain JSON values).
        status: the run's status; it shows if the run was ended from outside, such as by a cancellation.
        error: the reason, for such a run.
    """
    if _is_cut_short(memory, status):
        memory = _mark_unfinished(memory, status, error)
    phase_seconds = {phase: 0.0 for phase in PHASES}
    for span in memory['clock']['spans']:
        phase_seconds[span['phase']] = round(
            phase_seconds.get(span['phase'], 0.0) + span['ended'] - span['started'], 1
        )
    goal = next((item for item in reversed(memory['verifications']) if item['gate'] == 'goal'), None)
    remaining = tuple(_remaining(memory, goal))
    return Report(
        goal=memory['primary_goal'],
        outcome=memory['status'],
        reason=memory['reason'],
        verified=memory['verified'],
        plans=tuple(_plan_report(plan) for plan in nest_plans(memory)),
        evidence=goal['evidence'] if goal else '',
        metrics=memory['metrics'],
        time_limit=memory['time_limit'],
        used=_time_used(memory['clock'], sum(phase_seconds.values())),
        seconds=phase_seconds,
        rounds=_rounds(memory),
        messages=dict(Counter(message['type'] for message in memory['messages'])),
        escalations=tuple(
            f'{item["level"].capitalize()}: {item["message"]}' for item in memory['escalations']
        ),
        agents={name: agent['metrics'] for name, agent in memory['agents'].items()},
        degraded=tuple(entry['text'] for entry in memory['event_log'] if entry['kind'] == 'degraded'),
        files=tuple(memory['changed_files']),
        remaining=remaining,
        next=tuple(_next_steps(memory, bool(remaining))),
    )


def _is_cut_short(memory: Mapping[str, Any], status: Status) -> bool:
    """Whether the run was ended from outside the loop."""
    waited = memory['status'] == 'time_expired' and memory['resumable']
    return status.ended and (waited or memory['status'] not in ENDINGS)


def _mark_unfinished(memory: Mapping[str, Any], status: Status, error: str) -> dict[str, Any]:
    """Return the memory of a run that was ended from outside: nothing is under way or resumable."""
    text = f'The run was {status}' + (f': {error.rstrip(".")}.' if error else '.')

    def mark_stopped(records: Mapping[str, Any]) -> dict[str, Any]:
        under_way = {'in_progress': 'stopped', 'blocked': 'stopped'}
        return {
            name: {**record, 'status': under_way.get(record['status'], record['status'])}
            for name, record in records.items()
        }

    return {
        **memory,
        'status': str(status),
        'reason': ' '.join(filter(None, [text, memory['reason']])),
        'resumable': False,
        'plans': mark_stopped(memory['plans']),
        'steps': mark_stopped(memory['steps']),
    }


def _time_used(clock: Mapping[str, Any], phase_seconds: float) -> float:
    """Return the time used; while the clock runs, that of the finished phases."""
    if clock['stopped'] < 0:
        return phase_seconds
    return float(clock['limit'] - max(0.0, clock['ends'] - clock['stopped']))


def _rounds(memory: Mapping[str, Any]) -> int:
    """Count the rounds that began; one that only waits for time does not count."""
    begun_rounds = [span['round'] for span in memory['clock']['spans']]
    if memory['clock']['stopped'] < 0 or not begun_rounds:
        return int(memory['iteration'])
    return int(begun_rounds[-1])


def _plan_report(plan: Mapping[str, Any]) -> PlanReport:
    steps = tuple(map(_step_report, plan['steps']))
    return PlanReport(id=plan['id'], analysis=plan['analysis'], status=plan['status'], steps=steps)


def _step_report(step: Mapping[str, Any]) -> StepReport:
    tests, verdict = step['test_results'], step['verification_result']
    started, ended = step['started'], step['ended']
    return StepReport(
        id=step['id'],
        description=step['description'],
        complexity=step['complexity'],
        status=step['status'],
        attempts=step['attempts'],
        fix_cycles=step['fix_cycles'],
        seconds=round(ended - started, 1) if 0 <= started <= ended else 0.0,
        files=tuple(step['changed_files']),
        tests=tests['text'].partition('\n')[0] if tests else '',
        score=verdict['score'] if verdict else None,
        evidence=verdict['evidence'] if verdict else '',
        reason=step['fail_reason'] if step['status'] != 'completed' else '',
        degraded=bool(step['problem'] or (tests and tests['degraded']) or (verdict and verdict['degraded'])),
        steps=tuple(map(_step_report, step['sub_steps'])),
    )


def _remaining(memory: Mapping[str, Any], goal: Mapping[str, Any] | None) -> Iterator[str]:
    if memory['status'] == 'completed' and memory['verified']:
        return
    for step in memory['steps'].values():
        if step['status'] != 'completed' and not step['sub_steps']:
            reason = f' ({step["fail_reason"]})' if step['fail_reason'] else ''
            yield f'Step {step["id"]}, {step["status"].replace("_", " ")}: {step["description"]}{reason}'
    if not memory['plans']:
        yield 'No plan was adopted: everything remains to be done.'
    if goal is not None and not memory['verified']:
        yield from goal['issues']
    if not memory['verified']:
        yield 'The goal has not been verified.'


def _next_steps(memory: Mapping[str, Any], remaining: bool) -> Iterator[str]:
    if memory['status'] == 'completed':
        if memory['finishing'] or not (memory['verified'] or memory['skip_verification']):
            yield FORK_TO_CONTINUE
        else:
            yield (
                'Nothing is left to do.'
                if memory['verified']
                else 'Verify the goal: verification was skipped.'
            )
        return
    if memory['resumable']:
        yield 'Add time: the run continues where it stopped, with its files, plan and conversations.'
        yield 'Once it no longer waits, fork it at the step where it stopped, and add time there.'
    if memory['status'] == 'aborted':
        yield 'Read the interventions, then start again with a clearer goal or another model.'
    if memory['status'] == 'failed' and remaining:
        yield 'Start again with a goal that names what is missing, or with more rounds, time or fix cycles.'
    if memory['status'] == 'cancelled' or (memory['status'] == 'time_expired' and not memory['resumable']):
        yield FORK_TO_CONTINUE


def render_report(report: Report) -> str:
    """Return the report as Markdown."""
    lines = [
        f'# {_one_line(report.goal)}',
        '',
        f'**{report.outcome.replace("_", " ").capitalize()}.** {report.reason}',
        '',
        f'{report.used:.0f} of {report.time_limit:.0f} seconds, '
        f'{report.rounds} round{"" if report.rounds == 1 else "s"}; '
        f'the goal is {"verified" if report.verified else "not verified"}.',
    ]
    for plan in report.plans:
        lines += [
            '',
            f'## Plan {plan.id.removeprefix("plan-")} ({plan.status.replace("_", " ")})',
            '',
            plan.analysis,
            '',
        ]
        lines += _step_lines(plan.steps)
    lines += _section('What remains', report.remaining)
    lines += _section('How to continue', report.next)
    if report.evidence:
        lines += ['', '## Evidence', '', report.evidence]
    lines += _section('Files changed', [f'`{path}`' for path in report.files])
    seconds = 'Seconds' if report.rounds == 1 else f'Seconds in all {report.rounds} rounds'
    lines += _table(
        'Time', 'Phase', seconds, [(phase, f'{seconds:.1f}') for phase, seconds in report.seconds.items()]
    )
    counts = [(name.replace('_', ' '), str(count)) for name, count in report.metrics.items()]
    lines += _table('Counts', 'What', 'Number', counts)
    lines += _table(
        'Messages',
        'Type',
        'Number',
        [(name.replace('_', ' ').capitalize(), str(count)) for name, count in report.messages.items()],
    )
    lines += _section('Supervisor interventions', [_one_line(text) for text in report.escalations])
    lines += _section('Fallbacks', [_one_line(text) for text in report.degraded])
    return '\n'.join(lines) + '\n'


def _step_lines(steps: Sequence[StepReport], indent: str = '') -> Iterator[str]:
    marks = {'completed': 'x'}
    for step in steps:
        facts = [step.status.replace('_', ' '), step.complexity]
        facts += [f'{step.attempts} attempts'] if step.attempts > 1 else []
        facts += [f'{step.fix_cycles} fix cycles'] if step.fix_cycles else []
        facts += [f'score {step.score}'] if step.score is not None else []
        facts += [f'{step.seconds:.0f} s'] if step.seconds else []
        facts += ['degraded'] if step.degraded else []
        mark = marks.get(step.status, ' ')
        yield f'{indent}- [{mark}] **{step.id}** {_one_line(step.description)} ({", ".join(facts)})'
        if step.tests:
            yield f'{indent}  - Tests: {step.tests}'
        if step.evidence:
            yield f'{indent}  - Evidence: {_one_line(step.evidence)}'
        if step.reason:
            yield f'{indent}  - Reason: {_one_line(step.reason)}'
        yield from _step_lines(step.steps, f'{indent}  ')


def _section(title: str, items: Sequence[str]) -> list[str]:
    return ['', f'## {title}', '', *(f'- {_one_line(item)}' for item in items)] if items else []


def _table(title: str, first: str, second: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    return [
        '',
        f'## {title}',
        '',
        f'| {first} | {second} |',
        '|---|---:|',
        *(f'| {a} | {b} |' for a, b in rows),
    ]


def _one_line(text: str) -> str:
    return ' '.join(text.split())

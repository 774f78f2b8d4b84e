"""The time-bounded loop's chart: states and transitions in the format of `transitions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.seats import edges_of_all
from engine.patterns.time_bounded import activities, seats
from engine.patterns.time_bounded import agents as roles
from engine.patterns.time_bounded.actions import endings, planning, requests, rounds, steps, verdicts
from engine.patterns.time_bounded.gates import GATES
from engine.patterns.time_bounded.memory.schemas import CodeOutput, PlanDraft
from engine.patterns.time_bounded.memory.schemas import TestReading as Reading
from engine.records import EXHAUSTED
from engine.statechart.edges import edge
from engine.statechart.retry import Retry

RETRY: Final = Retry(attempts=4, delay=1.0, longest=15.0, patience=30.0)
"""A failed call is retried three times with growing delays; then a fallback answer is used."""
SAVING_SECONDS = 20.0

Action = Callable[..., None]
Guards = str | Sequence[str]


def _agent(  # noqa: PLR0913
    name: str, role: Role, output: Any, *, prompt: Callable[..., str], store: Any, ask: Action
) -> dict[str, Any]:
    return agent(
        name, role, output=output, prompt=prompt, then=store, enter=ask,
        folder=roles.FOLDER, within='call_seconds_left', retry=RETRY,
    )  # fmt: skip


def _supervisor(name: str, gate: str, *, prompt: Callable[..., str], ask: Action) -> dict[str, Any]:
    store, output = partial(verdicts.store_verdict, gate), verdicts.VERDICTS[gate]
    state = _agent(name, roles.SUPERVISOR, output, prompt=prompt, store=store, ask=ask)
    return seats.supervisor_seat(store, output).add_to(state)


def states() -> tuple[dict[str, Any], ...]:
    """The states; `working` contains the loop, so one transition can end it."""
    planning_state = {
        'name': 'planning', 'within': 'phase_seconds_left', 'initial': 'opening',
        'children': [
            {'name': 'opening'},
            seats.planner_seat(planning.store_plan).add_to(
                _agent(
                    'writing', roles.PLANNER, PlanDraft, prompt=roles.planning_prompt,
                    store=planning.store_plan, ask=requests.ask_planner,
                )
            ),
            {'name': 'examining', 'on_enter': planning.examine_plan},
            _supervisor(
                'reviewing', 'plan', prompt=roles.plan_review_prompt, ask=requests.ask_plan_review
            ),
            {'name': 'gate'},
        ],
    }  # fmt: skip
    step = {
        'name': 'step', 'within': 'step_seconds_left', 'initial': 'opening',
        'children': [
            {'name': 'opening'},
            _agent(
                'coding', roles.CODER, CodeOutput, prompt=roles.coding_prompt,
                store=steps.store_code, ask=requests.ask_coder,
            ),
            {
                'name': 'collecting', 'invoke': activities.collect_changes,
                'within': 'call_seconds_left', 'retry': RETRY,
            },
            _supervisor(
                'reviewing_code', 'code', prompt=roles.code_review_prompt, ask=requests.ask_code_review
            ),
            {'name': 'code_gate'},
            {
                'name': 'testing', 'caption': 'Running tests', 'invoke': activities.run_tests,
                'within': 'call_seconds_left', 'on_enter': requests.ask_tester,
            },
            _agent(
                'exploring', roles.TESTER, Reading, prompt=roles.testing_prompt,
                store=steps.store_test_analysis, ask=requests.set_call_timeout,
            ),
            _supervisor(
                'reviewing_fixes', 'tests', prompt=roles.fix_review_prompt, ask=requests.ask_fix_review
            ),
            {'name': 'fix_gate'},
            _supervisor(
                'reviewing_step', 'step', prompt=roles.step_review_prompt, ask=requests.ask_step_review
            ),
            {'name': 'step_gate'},
        ],
    }  # fmt: skip
    executing = {
        'name': 'executing', 'within': 'phase_seconds_left', 'initial': 'choosing',
        'on_enter': rounds.enter_executing,
        'children': [{'name': 'choosing', 'on_enter': rounds.log_time_left}, step],
    }  # fmt: skip
    verifying = {
        'name': 'verifying', 'within': 'phase_seconds_left', 'initial': 'integrating',
        'on_enter': rounds.enter_verifying,
        'children': [
            {
                'name': 'integrating', 'caption': 'Running all tests', 'invoke': activities.run_tests,
                'within': 'call_seconds_left', 'on_enter': requests.set_test_timeout,
            },
            _supervisor('judging', 'goal', prompt=roles.goal_review_prompt, ask=requests.ask_goal_review),
            {'name': 'gate'},
        ],
    }  # fmt: skip
    return (
        {
            'name': 'working', 'within': 'seconds_until_cutoff', 'initial': 'time_check',
            'children': [
                {'name': 'time_check', 'on_enter': rounds.check_time},
                {
                    'name': 'preparing', 'caption': 'Copying the project',
                    'invoke': activities.prepare_project, 'within': 60,
                },
                planning_state,
                executing,
                verifying,
            ],
        },
        {
            'name': 'shutting_down', 'initial': 'saving', 'on_exit': endings.write_report,
            'children': [
                {'name': 'saving', 'invoke': activities.save_files, 'within': SAVING_SECONDS},
                {'name': 'saved', 'final': True},
            ],
            'transitions': [
                ['done', 'saving', 'saved'],
                ['failed', 'saving', 'saved'],
                ['expired', 'saving', 'saved'],
            ],
        },
        {'name': 'stopped', 'waits': 'more time', 'within': 'wait_seconds_left'},
        {'name': 'completed', 'final': True},
        {'name': 'failed', 'final': True, 'outcome': 'failed'},
        {'name': 'aborted', 'final': True, 'outcome': 'failed'},
        {'name': 'time_expired', 'final': True, 'outcome': 'failed', 'on_enter': endings.stop_waiting},
    )  # fmt: skip


WORKING, PLANNING, EXECUTING, STEP, VERIFYING, SHUTTING_DOWN = (
    'working', 'working.planning', 'working.executing', 'working.executing.step', 'working.verifying',
    'shutting_down',
)  # fmt: skip
OVER = 'is_time_over'


def transitions() -> tuple[dict[str, Any], ...]:
    """The transitions, in the order they are tried."""
    return (
        *_round_edges(),
        *_planning_edges(),
        *_execution_edges(),
        *_verification_edges(),
        *_ending_edges(),
    )


def _edge(  # noqa: PLR0913
    trigger: str,
    source: str,
    dest: str | None,
    action: Action | None = None,
    *,
    when: Guards = (),
    unless: Guards = (),
) -> dict[str, Any]:
    # `before`, because the entered state reads what the action writes.
    return edge(trigger, source, dest, when, unless, before=action)


def _answer_edges(source: str, dest: str, fall_back: Action, *, when: Guards = ()) -> list[dict[str, Any]]:
    """Transitions for an agent's answer, or the fallback for it."""
    return [
        _edge('done', source, dest, when=when),
        _edge('failed', source, dest, fall_back, when=when),
        _edge('expired', source, dest, fall_back, when=when),
    ]


def _verdict_edges(source: str, dest: str, gate: str) -> list[dict[str, Any]]:
    """Transitions for the supervisor's verdict, or the fallback for it."""
    return _answer_edges(source, dest, partial(verdicts.use_fallback_verdict, gate))


def _gate_edges(source: str, *edges: tuple[str, Action, Guards]) -> list[dict[str, Any]]:
    """Transitions out of a gate, as target, action and guards; none apply once the session is aborted."""
    return [
        _edge('always', source, dest, action, when=when, unless='must_abort') for dest, action, when in edges
    ]


def _round_edges() -> list[dict[str, Any]]:
    check, preparing = f'{WORKING}.time_check', f'{WORKING}.preparing'
    return [
        _edge('always', check, preparing, unless=['is_prepared', OVER]),
        _edge('always', check, PLANNING, planning.begin_planning, when='is_to_plan', unless=OVER),
        _edge('always', check, EXECUTING, when='is_to_execute', unless=OVER),
        _edge('always', check, VERIFYING, when='is_to_verify', unless=OVER),
        _edge('done', preparing, check, rounds.store_project),
        _edge('failed', preparing, SHUTTING_DOWN, endings.fail_on_error),
        _edge('expired', preparing, SHUTTING_DOWN, endings.fail_on_error),
    ]


def _planning_edges() -> list[dict[str, Any]]:
    opening, examining = f'{PLANNING}.opening', f'{PLANNING}.examining'
    writing, reviewing, gate = f'{PLANNING}.writing', f'{PLANNING}.reviewing', f'{PLANNING}.gate'
    return [
        _edge('always', opening, reviewing, when='draft_is_sound'),
        _edge('always', opening, writing),
        *_answer_edges(writing, examining, planning.use_fallback_plan),
        _edge('always', examining, reviewing, when='draft_is_sound'),
        _edge('always', examining, writing, when='may_repair_plan'),
        _edge('always', examining, EXECUTING, planning.abandon_sub_plan, when='is_sub_plan'),
        _edge('always', examining, reviewing, planning.use_simplest_plan),
        *_verdict_edges(reviewing, gate, 'plan'),
        *_gate_edges(
            gate,
            (EXECUTING, planning.adopt_plan, list(GATES['plan'])),
            (writing, planning.revise_plan, 'may_revise_plan'),
            (EXECUTING, planning.abandon_sub_plan, 'is_sub_plan'),
            (SHUTTING_DOWN, planning.fail_plan, ()),
        ),
        _edge('expired', PLANNING, EXECUTING, planning.abandon_sub_plan, when='is_sub_plan'),
        _edge('expired', PLANNING, EXECUTING, planning.adopt_plan_at_timeout),
    ]


def _execution_edges() -> list[dict[str, Any]]:
    choosing = f'{EXECUTING}.choosing'
    return [
        _edge(
            'always',
            choosing,
            SHUTTING_DOWN,
            endings.expire_before_step,
            when='no_time_for_a_step_is_left',
            unless=OVER,
        ),
        _edge('always', choosing, STEP, when='step_is_open', unless=OVER),
        _edge('always', choosing, PLANNING, when='step_waits_for_plan', unless=OVER),
        _edge(
            'always',
            choosing,
            VERIFYING,
            rounds.escalate_failures,
            when='failures_are_too_many',
            unless=OVER,
        ),
        _edge(
            'always',
            choosing,
            PLANNING,
            planning.begin_replanning,
            when='steps_are_to_be_replanned',
            unless=OVER,
        ),
        _edge('always', choosing, STEP, steps.begin_step, when='has_next_step', unless=OVER),
        _edge('always', choosing, choosing, rounds.close_sub_plan, when=['plan_is_over', 'is_in_sub_plan']),
        _edge('always', choosing, VERIFYING, rounds.close_plan, when='plan_is_over'),
        *_step_edges(choosing),
        _edge('expired', STEP, choosing, steps.fail_step_by_time),
        _edge('expired', EXECUTING, SHUTTING_DOWN, endings.expire),
    ]


def _step_edges(choosing: str) -> list[dict[str, Any]]:
    opening, coding, collecting = f'{STEP}.opening', f'{STEP}.coding', f'{STEP}.collecting'
    reviewing_code, code_gate = f'{STEP}.reviewing_code', f'{STEP}.code_gate'
    testing, exploring = f'{STEP}.testing', f'{STEP}.exploring'
    reviewing_fixes, fix_gate = f'{STEP}.reviewing_fixes', f'{STEP}.fix_gate'
    reviewing_step, step_gate = f'{STEP}.reviewing_step', f'{STEP}.step_gate'
    rejected = (
        (coding, steps.retry_step, 'may_try_again'),
        (PLANNING, steps.ask_for_sub_plan, 'may_plan_deeper'),
        (choosing, steps.fail_step, ()),
    )
    return [
        _edge('always', opening, testing, when='code_is_good'),
        _edge('always', opening, collecting, when='code_is_written'),
        _edge('always', opening, coding),
        *_answer_edges(coding, collecting, steps.use_fallback_code),
        _edge('done', collecting, reviewing_code, steps.store_changes),
        _edge('failed', collecting, reviewing_code),
        _edge('expired', collecting, reviewing_code),
        *_verdict_edges(reviewing_code, code_gate, 'code'),
        *_gate_edges(
            code_gate,
            (testing, steps.approve_code, list(GATES['code'])),
            (PLANNING, steps.ask_for_sub_plan, ['coder_asks_for_plan', 'may_plan_deeper']),
            *rejected,
        ),
        _edge('done', testing, exploring, steps.store_test_results),
        _edge('failed', testing, exploring, steps.record_tests_as_failed),
        _edge('expired', testing, exploring, steps.record_tests_as_failed),
        *_answer_edges(exploring, reviewing_step, steps.use_fallback_analysis, when='work_is_sound'),
        *_answer_edges(exploring, reviewing_fixes, steps.use_fallback_analysis),
        *_verdict_edges(reviewing_fixes, fix_gate, 'tests'),
        *_gate_edges(
            fix_gate,
            (coding, steps.begin_fix, ['a_fix_cycle_is_left', 'time_for_fixes_is_left']),
            (choosing, steps.fail_tests, ()),
        ),
        *_verdict_edges(reviewing_step, step_gate, 'step'),
        *_gate_edges(step_gate, (choosing, steps.complete_step, list(GATES['step'])), *rejected),
    ]


def _verification_edges() -> list[dict[str, Any]]:
    integrating, judging, gate = f'{VERIFYING}.integrating', f'{VERIFYING}.judging', f'{VERIFYING}.gate'
    return [
        _edge('done', integrating, judging, rounds.store_final_tests),
        _edge('failed', integrating, judging, rounds.record_final_tests_as_failed),
        _edge('expired', integrating, judging, rounds.record_final_tests_as_failed),
        *_verdict_edges(judging, gate, 'goal'),
        *_gate_edges(
            gate,
            (SHUTTING_DOWN, endings.reach_goal, list(GATES['goal'])),
            (
                SHUTTING_DOWN,
                endings.expire_between_rounds,
                ['another_round_is_left', 'no_time_for_a_round_is_left'],
            ),
            (f'{WORKING}.time_check', rounds.begin_round, 'another_round_is_left'),
            (SHUTTING_DOWN, endings.fail_goal, ()),
        ),
        _edge('expired', VERIFYING, SHUTTING_DOWN, endings.expire),
        _edge('always', VERIFYING, SHUTTING_DOWN, endings.skip_goal, when='is_skipping_verification'),
    ]


def _ending_edges() -> list[dict[str, Any]]:
    return [
        _edge('always', WORKING, SHUTTING_DOWN, endings.abort, when='must_abort'),
        _edge('always', WORKING, SHUTTING_DOWN, endings.expire, when=OVER),
        _edge('expired', WORKING, SHUTTING_DOWN, endings.expire),
        _edge(EXHAUSTED, WORKING, SHUTTING_DOWN, endings.fail_out_of_budget),
        _edge('finish_now', WORKING, None, rounds.ask_to_finish, unless='is_finishing'),
        _edge('finish_now', WORKING, SHUTTING_DOWN, endings.finish_early),
        _edge('add_time', WORKING, None, rounds.add_time),
        _edge('replan', WORKING, None, rounds.ask_to_replan, when='has_pending_steps'),
        *edges_of_all([WORKING]),
        _edge(
            'skip_verification', WORKING, None, rounds.skip_verification, unless='is_skipping_verification'
        ),
        _edge('failed', WORKING, SHUTTING_DOWN, endings.fail_on_error),
        _edge('done', SHUTTING_DOWN, 'completed', when='ends_completed'),
        _edge('done', SHUTTING_DOWN, 'aborted', when='ends_aborted'),
        _edge('done', SHUTTING_DOWN, 'failed', when='ends_failed'),
        _edge('done', SHUTTING_DOWN, 'stopped', when='may_be_resumed'),
        _edge('done', SHUTTING_DOWN, 'time_expired'),
        _edge('add_time', 'stopped', WORKING, rounds.resume),
        _edge('finish_now', 'stopped', 'completed', endings.finish_stopped),
        _edge('expired', 'stopped', 'time_expired'),
    ]

"""The time-bounded loop's chart: states and transitions in the format of `transitions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from engine.agents.chart import agent
from engine.charts.seats import edges_of_all
from engine.patterns.time_bounded import activities, seats
from engine.patterns.time_bounded import agents as roles
from engine.patterns.time_bounded.actions import endings, planning, requests, rounds, steps, verdicts
from engine.patterns.time_bounded.gates import GATES
from engine.patterns.time_bounded.memory.schemas import CodeOutput, PlanDraft
from engine.patterns.time_bounded.memory.schemas import TestReading as Reading
from engine.records import EXHAUSTED
from engine.statechart.edges import edge, failure_edges
from engine.statechart.retry import Retry

RETRY: Final = Retry(attempts=4, delay=1.0, longest=15.0, patience=30.0)
"""A failed call is retried three times with growing delays; then a fallback answer is used."""
SAVING_SECONDS = 20.0

Action = Callable[..., None]
Guards = str | Sequence[str]


_agent = partial(agent, folder=roles.FOLDER, within='call_seconds_left', retry=RETRY)


def _supervisor(name: str, gate: str, *, prompt: Callable[..., str], ask: Action) -> dict[str, Any]:
    store, output = partial(verdicts.store_verdict, gate), verdicts.VERDICTS[gate]
    state = _agent(name, roles.SUPERVISOR, output=output, prompt=prompt, then=store, enter=ask)
    return seats.supervisor_seat(store, output).add_to(state)


def states() -> tuple[dict[str, Any], ...]:
    """The states; `working` contains the loop, so one transition can end it."""
    planning_state = {
        'name': 'planning', 'within': 'phase_seconds_left', 'initial': 'opening',
        'children': [
            {'name': 'opening'},
            seats.planner_seat(planning.store_plan).add_to(
                _agent(
                    'writing', roles.PLANNER, output=PlanDraft, prompt=roles.planning_prompt,
                    then=planning.store_plan, enter=requests.ask_planner,
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
                'coding', roles.CODER, output=CodeOutput, prompt=roles.coding_prompt,
                then=steps.store_code, enter=requests.ask_coder,
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
                'exploring', roles.TESTER, output=Reading, prompt=roles.testing_prompt,
                then=steps.store_test_analysis, enter=requests.set_call_timeout,
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
                    'invoke': activities.prepare_project, 'within': 60, 'most_visits': 1,
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
    """The transitions, in the order they are tried.

    Their actions run `before`, because the entered state reads what they write.
    """
    return (
        *_round_edges(),
        *_planning_edges(),
        *_execution_edges(),
        *_verification_edges(),
        *_ending_edges(),
    )


def _answer_edges(source: str, dest: str, fall_back: Action, *, when: Guards = ()) -> list[dict[str, Any]]:
    """Transitions for an agent's answer, or the fallback for it."""
    return [
        edge('done', source, dest, when),
        edge('failed', source, dest, when, before=fall_back),
        edge('expired', source, dest, when, before=fall_back),
    ]


def _verdict_edges(source: str, dest: str, gate: str) -> list[dict[str, Any]]:
    """Transitions for the supervisor's verdict, or the fallback for it."""
    return _answer_edges(source, dest, partial(verdicts.use_fallback_verdict, gate))


def _gate_edges(source: str, *edges: tuple[str, Action, Guards]) -> list[dict[str, Any]]:
    """Transitions out of a gate, as target, action and guards; none apply once the session is aborted."""
    return [edge('always', source, dest, when, 'must_abort', before=action) for dest, action, when in edges]


def _round_edges() -> list[dict[str, Any]]:
    check, preparing = f'{WORKING}.time_check', f'{WORKING}.preparing'
    return [
        edge('always', check, preparing, unless=['is_prepared', OVER]),
        edge('always', check, PLANNING, 'is_to_plan', OVER, before=planning.begin_planning),
        edge('always', check, EXECUTING, 'is_to_execute', OVER),
        edge('always', check, VERIFYING, 'is_to_verify', OVER),
        edge('done', preparing, check, before=rounds.store_project),
        *failure_edges(preparing, SHUTTING_DOWN, before=endings.fail_on_error),
    ]


def _planning_edges() -> list[dict[str, Any]]:
    opening, examining = f'{PLANNING}.opening', f'{PLANNING}.examining'
    writing, reviewing, gate = f'{PLANNING}.writing', f'{PLANNING}.reviewing', f'{PLANNING}.gate'
    return [
        edge('always', opening, reviewing, 'draft_is_sound'),
        edge('always', opening, writing),
        *_answer_edges(writing, examining, planning.use_fallback_plan),
        edge('always', examining, reviewing, 'draft_is_sound'),
        edge('always', examining, writing, 'may_repair_plan'),
        edge('always', examining, EXECUTING, 'is_sub_plan', before=planning.abandon_sub_plan),
        edge('always', examining, reviewing, before=planning.use_simplest_plan),
        *_verdict_edges(reviewing, gate, 'plan'),
        *_gate_edges(
            gate,
            (EXECUTING, planning.adopt_plan, list(GATES['plan'])),
            (writing, planning.revise_plan, 'may_revise_plan'),
            (EXECUTING, planning.abandon_sub_plan, 'is_sub_plan'),
            (SHUTTING_DOWN, planning.fail_plan, ()),
        ),
        edge('expired', PLANNING, EXECUTING, 'is_sub_plan', before=planning.abandon_sub_plan),
        edge('expired', PLANNING, EXECUTING, before=planning.adopt_plan_at_timeout),
    ]


def _execution_edges() -> list[dict[str, Any]]:
    choosing = f'{EXECUTING}.choosing'
    return [
        edge(
            'always',
            choosing,
            SHUTTING_DOWN,
            'no_time_for_a_step_is_left',
            OVER,
            before=endings.expire_before_step,
        ),
        edge('always', choosing, STEP, 'step_is_open', OVER),
        edge('always', choosing, PLANNING, 'step_waits_for_plan', OVER),
        edge('always', choosing, VERIFYING, 'failures_are_too_many', OVER, before=rounds.escalate_failures),
        edge(
            'always', choosing, PLANNING, 'steps_are_to_be_replanned', OVER, before=planning.begin_replanning
        ),
        edge('always', choosing, STEP, 'has_next_step', OVER, before=steps.begin_step),
        edge('always', choosing, choosing, ['plan_is_over', 'is_in_sub_plan'], before=rounds.close_sub_plan),
        edge('always', choosing, VERIFYING, 'plan_is_over', before=rounds.close_plan),
        *_step_edges(choosing),
        edge('expired', STEP, choosing, before=steps.fail_step_by_time),
        edge('expired', EXECUTING, SHUTTING_DOWN, before=endings.expire),
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
        edge('always', opening, testing, 'code_is_good'),
        edge('always', opening, collecting, 'code_is_written'),
        edge('always', opening, coding),
        *_answer_edges(coding, collecting, steps.use_fallback_code),
        edge('done', collecting, reviewing_code, before=steps.store_changes),
        *failure_edges(collecting, reviewing_code),
        *_verdict_edges(reviewing_code, code_gate, 'code'),
        *_gate_edges(
            code_gate,
            (testing, steps.approve_code, list(GATES['code'])),
            (PLANNING, steps.ask_for_sub_plan, ['coder_asks_for_plan', 'may_plan_deeper']),
            *rejected,
        ),
        edge('done', testing, exploring, before=steps.store_test_results),
        *failure_edges(testing, exploring, before=steps.record_tests_as_failed),
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
        edge('done', integrating, judging, before=rounds.store_final_tests),
        *failure_edges(integrating, judging, before=rounds.record_final_tests_as_failed),
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
        edge('expired', VERIFYING, SHUTTING_DOWN, before=endings.expire),
        edge('always', VERIFYING, SHUTTING_DOWN, 'is_skipping_verification', before=endings.skip_goal),
    ]


def _ending_edges() -> list[dict[str, Any]]:
    return [
        edge('always', WORKING, SHUTTING_DOWN, 'must_abort', before=endings.abort),
        edge('always', WORKING, SHUTTING_DOWN, OVER, before=endings.expire),
        edge('expired', WORKING, SHUTTING_DOWN, before=endings.expire),
        edge(EXHAUSTED, WORKING, SHUTTING_DOWN, before=endings.fail_out_of_budget),
        edge('finish_now', WORKING, None, unless='is_finishing', before=rounds.ask_to_finish),
        edge('finish_now', WORKING, SHUTTING_DOWN, before=endings.finish_early),
        edge('add_time', WORKING, None, before=rounds.add_time),
        edge('replan', WORKING, None, 'has_pending_steps', before=rounds.ask_to_replan),
        *edges_of_all([WORKING]),
        edge(
            'skip_verification',
            WORKING,
            None,
            unless='is_skipping_verification',
            before=rounds.skip_verification,
        ),
        edge('failed', WORKING, SHUTTING_DOWN, before=endings.fail_on_error),
        edge('done', SHUTTING_DOWN, 'completed', 'ends_completed'),
        edge('done', SHUTTING_DOWN, 'aborted', 'ends_aborted'),
        edge('done', SHUTTING_DOWN, 'failed', 'ends_failed'),
        edge('done', SHUTTING_DOWN, 'stopped', 'may_be_resumed'),
        edge('done', SHUTTING_DOWN, 'time_expired'),
        edge('add_time', 'stopped', WORKING, before=rounds.resume),
        edge('finish_now', 'stopped', 'completed', before=endings.finish_stopped),
        edge('expired', 'stopped', 'time_expired'),
    ]

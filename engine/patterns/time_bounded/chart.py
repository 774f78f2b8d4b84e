"""The time-bounded loop's chart: states and transitions in the format of `transitions`."""

from __future__ import annotations

from typing import Any, Final

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.patterns.time_bounded import seats
from engine.patterns.time_bounded.agents import CODER, FOLDER, PLANNER, SUPERVISOR, TESTER
from engine.patterns.time_bounded.gates import GATES
from engine.patterns.time_bounded.schemas import (
    CodeOutput,
    CodeVerdict,
    GoalVerdict,
    PlanDraft,
    PlanVerdict,
    StepVerdict,
    Verdict,
)
from engine.patterns.time_bounded.schemas import TestReading as Reading
from engine.records import EXHAUSTED
from engine.statechart.edges import edge
from engine.statechart.retry import Retry

RETRY: Final = Retry(attempts=4, delay=1.0, longest=15.0, patience=30.0)
"""A failed call is retried three times with growing delays; then a fallback answer is used."""
SAVING_SECONDS = 20.0


def _agent(  # noqa: PLR0913
    name: str, role: Role, output: Any, prompt: str, takes: str, asks: str
) -> dict[str, Any]:
    return agent(
        name, role, output=output, prompt=prompt, then=takes, enter=asks,
        folder=FOLDER, within='call_left', retry=RETRY,
    )  # fmt: skip


def _supervisor(name: str, output: Any, what: str) -> dict[str, Any]:
    state = _agent(
        name, SUPERVISOR, output, f'prompt_{what}_review', f'take_{what}_verdict', f'ask_{what}_review'
    )
    return seats.with_seat(state, 'supervisor', f'take_{what}_verdict', output)


def states() -> tuple[dict[str, Any], ...]:
    """The states; `working` contains the loop, so one transition can end it."""
    planning = {
        'name': 'planning', 'within': 'phase_left', 'initial': 'opening',
        'children': [
            {'name': 'opening'},
            seats.with_seat(
                _agent('writing', PLANNER, PlanDraft, 'prompt_planning', 'take_plan', 'ask_planner'),
                'planner', 'take_plan', PlanDraft,
            ),
            {'name': 'examining', 'on_enter': 'examine_plan'},
            _supervisor('reviewing', PlanVerdict, 'plan'),
            {'name': 'gate'},
        ],
    }  # fmt: skip
    step = {
        'name': 'step', 'within': 'step_left', 'initial': 'opening',
        'children': [
            {'name': 'opening'},
            _agent('coding', CODER, CodeOutput, 'prompt_coding', 'take_code', 'ask_coder'),
            {'name': 'collecting', 'invoke': 'collect', 'within': 'call_left', 'retry': RETRY},
            _supervisor('reviewing_code', CodeVerdict, 'code'),
            {'name': 'code_gate'},
            {'name': 'testing', 'invoke': 'test', 'within': 'call_left', 'on_enter': 'ask_tester'},
            _agent('exploring', TESTER, Reading, 'prompt_exploring', 'take_reading', 'bound_call'),
            _supervisor('reviewing_fixes', Verdict, 'fix'),
            {'name': 'fix_gate'},
            _supervisor('reviewing_step', StepVerdict, 'step'),
            {'name': 'step_gate'},
        ],
    }  # fmt: skip
    executing = {
        'name': 'executing', 'within': 'phase_left', 'initial': 'choosing', 'on_enter': 'enter_executing',
        'children': [{'name': 'choosing', 'on_enter': 'look_at_plan'}, step],
    }  # fmt: skip
    verifying = {
        'name': 'verifying', 'within': 'phase_left', 'initial': 'integrating', 'on_enter': 'enter_verifying',
        'children': [
            {'name': 'integrating', 'invoke': 'integrate', 'within': 'call_left', 'on_enter': 'bound_tests'},
            _supervisor('judging', GoalVerdict, 'goal'),
            {'name': 'gate'},
        ],
    }  # fmt: skip
    return (
        {
            'name': 'working', 'within': 'seconds_to_the_end', 'initial': 'time_check',
            'children': [
                {'name': 'time_check', 'on_enter': 'check_time'},
                {'name': 'preparing', 'invoke': 'prepare', 'within': 60},
                planning,
                executing,
                verifying,
            ],
        },
        {
            'name': 'shutting_down', 'initial': 'saving', 'on_exit': 'write_report',
            'children': [
                {'name': 'saving', 'invoke': 'save', 'within': SAVING_SECONDS},
                {'name': 'saved', 'final': True},
            ],
            'transitions': [
                ['done', 'saving', 'saved'],
                ['failed', 'saving', 'saved'],
                ['expired', 'saving', 'saved'],
            ],
        },
        {'name': 'stopped', 'waits': 'more time', 'within': 'window_left'},
        {'name': 'completed', 'final': True},
        {'name': 'failed', 'final': True, 'outcome': 'failed'},
        {'name': 'aborted', 'final': True, 'outcome': 'failed'},
        {'name': 'time_expired', 'final': True, 'outcome': 'failed', 'on_enter': 'stop_waiting'},
    )  # fmt: skip


WORKING, PLANNING, EXECUTING, STEP, VERIFYING, SHUTTING_DOWN = (
    'working', 'working.planning', 'working.executing', 'working.executing.step', 'working.verifying',
    'shutting_down',
)  # fmt: skip


def transitions() -> tuple[dict[str, Any], ...]:
    """The transitions, in the order they are tried."""
    return (*_loop(), *_planning(), *_executing(), *_verifying(), *_ending())


def _edge(  # noqa: PLR0913
    trigger: str, source: str, dest: str | None, act: str | None = None, when: Any = None, unless: Any = None
) -> dict[str, Any]:
    # `before`, because the entered state reads what the action writes.
    return edge(trigger, source, dest, when, unless, before=act)


def _answer_edges(source: str, dest: str, stand_in: str, when: Any = None) -> list[dict[str, Any]]:
    """Transitions for an agent's answer, or the fallback for it."""
    return [
        _edge('done', source, dest, None, when),
        _edge('failed', source, dest, stand_in, when),
        _edge('expired', source, dest, stand_in, when),
    ]


def _gate(source: str, *ways: tuple[str, str, Any]) -> list[dict[str, Any]]:
    """Transitions out of a gate, as target, action and guards; none apply once the session is aborted."""
    return [_edge('always', source, dest, act, when, 'must_abort') for dest, act, when in ways]


def _loop() -> list[dict[str, Any]]:
    check, over = f'{WORKING}.time_check', 'is_time_over'
    return [
        _edge('always', check, f'{WORKING}.preparing', None, None, ['is_prepared', over]),
        _edge('always', check, PLANNING, 'begin_planning', 'is_to_plan', over),
        _edge('always', check, EXECUTING, None, 'is_to_execute', over),
        _edge('always', check, VERIFYING, None, 'is_to_verify', over),
        _edge('done', f'{WORKING}.preparing', check, 'keep_project'),
        _edge('failed', f'{WORKING}.preparing', SHUTTING_DOWN, 'break_off'),
        _edge('expired', f'{WORKING}.preparing', SHUTTING_DOWN, 'break_off'),
    ]


def _planning() -> list[dict[str, Any]]:
    writing, reviewing = f'{PLANNING}.writing', f'{PLANNING}.reviewing'
    return [
        _edge('always', f'{PLANNING}.opening', reviewing, None, 'draft_is_sound'),
        _edge('always', f'{PLANNING}.opening', writing),
        *_answer_edges(writing, f'{PLANNING}.examining', 'stand_in_for_plan'),
        _edge('always', f'{PLANNING}.examining', reviewing, None, 'draft_is_sound'),
        _edge('always', f'{PLANNING}.examining', writing, None, 'may_repair_plan'),
        _edge('always', f'{PLANNING}.examining', EXECUTING, 'drop_sub_plan', 'is_sub_plan'),
        _edge('always', f'{PLANNING}.examining', reviewing, 'settle_for_plainest'),
        *_answer_edges(reviewing, f'{PLANNING}.gate', 'stand_in_for_plan_verdict'),
        *_gate(
            f'{PLANNING}.gate',
            (EXECUTING, 'adopt_plan', list(GATES['plan'])),
            (writing, 'revise_plan', 'may_revise_plan'),
            (EXECUTING, 'drop_sub_plan', 'is_sub_plan'),
            (SHUTTING_DOWN, 'fail_plan', None),
        ),
        _edge('expired', PLANNING, EXECUTING, 'drop_sub_plan', 'is_sub_plan'),
        _edge('expired', PLANNING, EXECUTING, 'settle_for_plan'),
    ]


def _executing() -> list[dict[str, Any]]:
    choosing, coding, over = f'{EXECUTING}.choosing', f'{STEP}.coding', 'is_time_over'
    again = (
        (coding, 'retry_step', 'may_try_again'),
        (PLANNING, 'ask_for_sub_plan', 'may_plan_deeper'),
        (choosing, 'fail_step', None),
    )
    return [
        _edge('always', choosing, STEP, None, 'step_is_open', over),
        _edge('always', choosing, PLANNING, None, 'step_waits_for_plan', over),
        _edge('always', choosing, VERIFYING, 'escalate_failures', 'failures_are_too_many', over),
        _edge('always', choosing, STEP, 'begin_step', 'has_next_step', over),
        _edge('always', choosing, choosing, 'close_sub_plan', ['plan_is_over', 'is_in_sub_plan']),
        _edge('always', choosing, VERIFYING, 'close_plan', 'plan_is_over'),
        # Last, so that older journals evaluate their guards in the recorded order.
        _edge('always', choosing, PLANNING, 'begin_replanning', 'steps_are_to_be_replanned', over),
        _edge('always', f'{STEP}.opening', f'{STEP}.testing', None, 'code_is_good'),
        _edge('always', f'{STEP}.opening', f'{STEP}.collecting', None, 'code_is_written'),
        _edge('always', f'{STEP}.opening', coding),
        *_answer_edges(coding, f'{STEP}.collecting', 'stand_in_for_code'),
        _edge('done', f'{STEP}.collecting', f'{STEP}.reviewing_code', 'keep_changes'),
        _edge('failed', f'{STEP}.collecting', f'{STEP}.reviewing_code'),
        _edge('expired', f'{STEP}.collecting', f'{STEP}.reviewing_code'),
        *_answer_edges(f'{STEP}.reviewing_code', f'{STEP}.code_gate', 'stand_in_for_code_verdict'),
        *_gate(
            f'{STEP}.code_gate',
            (f'{STEP}.testing', 'approve_code', list(GATES['code'])),
            (PLANNING, 'ask_for_sub_plan', ['coder_asks_for_plan', 'may_plan_deeper']),
            *again,
        ),
        _edge('done', f'{STEP}.testing', f'{STEP}.exploring', 'take_tests'),
        _edge('failed', f'{STEP}.testing', f'{STEP}.exploring', 'stand_in_for_tests'),
        _edge('expired', f'{STEP}.testing', f'{STEP}.exploring', 'stand_in_for_tests'),
        *_answer_edges(
            f'{STEP}.exploring', f'{STEP}.reviewing_step', 'stand_in_for_reading', 'work_is_sound'
        ),
        *_answer_edges(f'{STEP}.exploring', f'{STEP}.reviewing_fixes', 'stand_in_for_reading'),
        *_answer_edges(f'{STEP}.reviewing_fixes', f'{STEP}.fix_gate', 'stand_in_for_fix_verdict'),
        *_gate(
            f'{STEP}.fix_gate',
            (coding, 'begin_fix', ['a_fix_cycle_is_left', 'time_for_fixes_is_left']),
            (choosing, 'fail_tests', None),
        ),
        *_answer_edges(f'{STEP}.reviewing_step', f'{STEP}.step_gate', 'stand_in_for_step_verdict'),
        *_gate(f'{STEP}.step_gate', (choosing, 'complete_step', list(GATES['step'])), *again),
        _edge('expired', STEP, choosing, 'fail_step_by_time'),
        _edge('expired', EXECUTING, SHUTTING_DOWN, 'expire'),
    ]


def _verifying() -> list[dict[str, Any]]:
    return [
        _edge('done', f'{VERIFYING}.integrating', f'{VERIFYING}.judging', 'take_final_tests'),
        _edge('failed', f'{VERIFYING}.integrating', f'{VERIFYING}.judging', 'stand_in_for_final_tests'),
        _edge('expired', f'{VERIFYING}.integrating', f'{VERIFYING}.judging', 'stand_in_for_final_tests'),
        *_answer_edges(f'{VERIFYING}.judging', f'{VERIFYING}.gate', 'stand_in_for_goal_verdict'),
        *_gate(
            f'{VERIFYING}.gate',
            (SHUTTING_DOWN, 'reach_goal', list(GATES['goal'])),
            (
                SHUTTING_DOWN,
                'expire_between_rounds',
                ['another_round_is_left', 'no_time_for_a_round_is_left'],
            ),
            (f'{WORKING}.time_check', 'begin_round', 'another_round_is_left'),
            (SHUTTING_DOWN, 'miss_goal', None),
        ),
        _edge('expired', VERIFYING, SHUTTING_DOWN, 'expire'),
        _edge('always', VERIFYING, SHUTTING_DOWN, 'skip_goal', 'is_skipping_verification'),
    ]


def _ending() -> list[dict[str, Any]]:
    return [
        _edge('always', WORKING, SHUTTING_DOWN, 'abort', 'must_abort'),
        _edge('always', WORKING, SHUTTING_DOWN, 'expire', 'is_time_over'),
        _edge('expired', WORKING, SHUTTING_DOWN, 'expire'),
        _edge(EXHAUSTED, WORKING, SHUTTING_DOWN, 'run_out'),
        _edge('finish_now', WORKING, None, 'ask_to_finish', None, 'is_finishing'),
        _edge('finish_now', WORKING, SHUTTING_DOWN, 'finish_early'),
        _edge('add_time', WORKING, None, 'add_time'),
        _edge('replan', WORKING, None, 'ask_to_replan', 'has_pending_steps'),
        *seats.seat_edges(WORKING),
        _edge('skip_verification', WORKING, None, 'skip_verification', None, 'is_skipping_verification'),
        _edge('failed', WORKING, SHUTTING_DOWN, 'break_off'),
        _edge('done', SHUTTING_DOWN, 'completed', None, 'ends_completed'),
        _edge('done', SHUTTING_DOWN, 'aborted', None, 'ends_aborted'),
        _edge('done', SHUTTING_DOWN, 'failed', None, 'ends_failed'),
        _edge('done', SHUTTING_DOWN, 'stopped', None, 'may_be_resumed'),
        _edge('done', SHUTTING_DOWN, 'time_expired'),
        _edge('add_time', 'stopped', WORKING, 'resume'),
        _edge('finish_now', 'stopped', 'completed', 'finish_stopped'),
        _edge('expired', 'stopped', 'time_expired'),
    ]

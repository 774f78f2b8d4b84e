"""Messages, time, gates and plans as shown to people; and where each message came from."""

import re

import pytest

from engine import Event, Status, Transition
from engine.patterns import PhaseBudget
from engine.patterns.time_bounded.memory.schedule import TimeSpan
from engine.records import Change, EdgeShape, PanelField, RunId, Shape, StatePath, Usage, View
from ui.web.components.assets import STYLES
from ui.web.pages.run.agents.stages import Stage
from ui.web.pages.run.panels.messages import Message, MessageFilter, messages_of, parties
from ui.web.pages.run.panels.phases import (
    STATES,
    phase_burns,
    phase_line,
    phase_status,
    run_clock,
    running_seconds,
    state_class,
    step_lines,
    time_left,
)
from ui.web.pages.run.panels.plan import settled_steps
from ui.web.pages.run.panels.plan import step_status as step_stands
from ui.web.pages.run.panels.supervision import current_level, gates_of, interventions_of
from ui.web.pages.shared.run.context import accepts_event
from ui.web.replay.history import History, Position

PATH = StatePath
SHAPE = Shape(
    pattern='p',
    title='P',
    initial=PATH('a'),
    states=(),
    edges=(EdgeShape(trigger='more', source=PATH('a'), dest=''),),
    panels=(
        PanelField(panel='messages', field='posts'),
        PanelField(panel='time', field='clock'),
        *(
            PanelField(panel='supervision', part=part, field=field)
            for part, field in (
                ('verdicts', 'verdicts'),
                ('interventions', 'sent'),
                ('level', 'level'),
                ('issues', 'issues'),
            )
        ),
    ),
)


def view(memory=None, **facts) -> View:
    usual = {
        'run': RunId('r'), 'seq': 3, 'time': 100.0, 'started': 40.0, 'status': Status.RUNNING, 'entered': {},
        'active': (PATH('a.b'),), 'attempts': {}, 'agents': {}, 'files': {}, 'usage': Usage(),
        'paused': False, 'error': '', 'waiting': '', 'ran': 60.0,
    }  # fmt: skip
    return View(**{**usual, 'memory': memory or {}, **facts})


def step(seq: int, *changes: Change, name: str = 'go', **data) -> Transition:
    return Transition(
        run=RunId('r'), seq=seq, time=float(seq), event=Event(name=name, data=data), changes=changes
    )


def test_each_list_element_is_traced_to_its_step():
    grown = History()
    grown.add(step(1, name='start', memory={'posts': ['from the start']}))
    grown.add(step(2, Change(op='add', path='/memory/posts/-', value='a')))
    grown.add(step(3, Change(op='add', path='/memory/postscript/-', value='of another list')))
    grown.add(step(4, Change(op='replace', path='/memory/posts', value=['s', 'a', 'b', 'c'])))
    assert grown.appended_to('posts') == [
        Position(1, 1.0),
        Position(2, 2.0),
        Position(4, 4.0),
        Position(4, 4.0),
    ]
    assert grown.appended_to('other') == []


def test_messages_of_any_pattern_are_read():
    messages = messages_of(
        [
            {'sender': 'a', 'recipient': 'b', 'type': 'ASK', 'content': 'why?', 'time': 7.0, 'step': '1.2'},
            {'sender': 'b', 'recipient': 'a', 'kind': 'answer', 'content': 'so'},
            'no message',
        ],
        [Position(2, 2.0)],
    )
    assert messages == [
        Message(
            number=1, sender='a', recipient='b', type='ASK', content='why?', seq=2, time=7.0, about='1.2'
        ),
        Message(number=2, sender='b', recipient='a', type='answer', content='so'),
    ]
    assert parties(messages) == ['a', 'b']
    assert messages[0].row(2.0) == [1, 2, '5.0 s', 'a', 'b', 'ASK', 'why?']
    assert messages_of({'not': 'a list'}) == []


@pytest.mark.parametrize(
    ('query', 'takes'),
    [
        ({}, True),
        ({'sender': 'a'}, True),
        ({'sender': 'b'}, False),
        ({'recipient': 'a'}, False),
        ({'type': 'ASK', 'text': ' WHY '}, True),
        ({'text': 'because'}, False),
    ],
)
def test_messages_are_filtered(query, takes):
    message = Message(number=1, sender='a', recipient='b', type='ASK', content='why?')
    filters = MessageFilter.from_query(query)
    assert filters.matches(message) is takes
    assert filters.query == query


def clock(**facts) -> PhaseBudget:
    phase_budget = PhaseBudget(limit=100, ends=100, round=1, round_budget=100, **facts)
    phase_budget.begin_phase('planning', 0)
    return phase_budget


def test_a_phase_shows_its_used_share_and_forecast():
    timing = clock(steps=4, done=1)
    timing.begin_phase('executing', 10)
    timing.begin_step(10, 20)
    planning, executing, verifying = phase_burns(timing, 40)
    assert phase_line(timing, planning) == 'Round 1: 10 s of 10 s'
    assert [phase_status(timing, phase) for phase in (planning, executing, verifying)] == [
        'done', 'in progress', 'upcoming',
    ]  # fmt: skip
    assert phase_line(timing, executing) == 'Round 1: 30 s of 1:20, forecast 2:00 (over budget)'
    assert phase_line(timing, phase_burns(timing, 95)[1]) == 'Round 1: 1:25 of 1:20 · over, forecast 5:40'
    assert time_left(timing, 40, Status.RUNNING) == '1:00 of 1:40 left'
    assert dict(step_lines(timing, 22)) == {
        'This step': '8.0 s of 20 s left',
        'Fix cycles': 'up to 6.0 s; none so far',
    }
    timing.stop(100)
    assert time_left(timing, 200, Status.WAITING) == 'used up: 1:40'
    assert phase_status(timing, phase_burns(timing, 200)[2]) == 'not started'
    timing.stop(96)
    assert time_left(timing, 200, Status.WAITING) == 'stopped with 4.0 s left'
    assert time_left(timing, 200, Status.DONE) == 'ended with 4.0 s left'
    timing.stop(99.97)
    assert time_left(timing, 200, Status.WAITING) == 'used up: 1:40'  # rather than 0.0 s left


def test_times_say_which_round_they_are_of():
    timing = clock()
    timing.end_phase(90)
    timing.begin_round(90, 2)
    timing.begin_phase('planning', 90)
    assert phase_line(timing, phase_burns(timing, 91)[0]) == 'Round 2: 1.0 s of 1.0 s'
    assert [span.round for span in timing.spans] == [1]


def test_a_stage_works_while_the_engine_does_its_own_work_in_it():
    stage = Stage('a', 'A', ('a.coder',), chores=('a.testing',))
    coder = {PATH('a.coder'): {}}
    for active, facts, status in (
        ('a.testing', {}, 'working'),
        ('a.testing', {'paused': True}, 'paused'),
        ('b.testing', {}, 'done'),
        ('a.testing', {'status': Status.DONE}, 'done'),
    ):
        shown = view(active=(PATH(active),), agents=coder, **facts)
        assert stage.status(shown, History()) == status, active


def test_time_advances_only_while_the_run_does():
    assert running_seconds(view(), 105.0) == 65.0
    assert running_seconds(view(paused=True), 105.0) == 60.0
    assert running_seconds(view(status=Status.DONE), 105.0) == 60.0


def test_a_clock_of_another_version_is_ignored():
    timing = clock()
    timing.spans.append(TimeSpan(phase='planning', round=1, started=0, ended=1))
    assert run_clock(SHAPE, view({'clock': timing.model_dump()})) is not None
    assert run_clock(SHAPE, view({'clock': {'limit': 'much'}})) is None
    assert run_clock(SHAPE, view({'clock': 7})) is None
    assert run_clock(SHAPE, view()) is None


def test_a_gate_names_the_conditions_that_blocked_work():
    memory = {
        'level': 'REMIND',
        'verdicts': [
            {'gate': 'code', 'score': 55, 'threshold': 60, 'conditions': [['tests_are_included', False]]},
            {'gate': 'plan', 'score': 90, 'conditions': [['plan_is_approved', True]], 'level': 'NONE'},
        ],
        'sent': [{'level': 'REMIND', 'agent': 'coder', 'message': 'Keep in mind', 'score': 55, 'issues': 1}],
    }
    code, plan = gates_of(SHAPE, view(memory), [Position(9, 1.0)])
    assert (code.title, code.result.passed, code.result.unmet, code.result.threshold, code.seq) == (
        'Code approval', False, ('tests_are_included',), 60, 9,
    )  # fmt: skip
    assert (plan.result.passed, plan.result.unmet, plan.result.threshold, plan.seq) == (True, (), None, 0)
    assert [
        intervention.escalation.message for intervention in interventions_of(SHAPE, view(memory), [])
    ] == ['Keep in mind']
    assert current_level(SHAPE, view(memory)) == 'REMIND'
    assert current_level(SHAPE, view({'level': 'of old'})) == 'NONE'


def test_an_event_is_offered_if_a_parent_state_accepts_it():
    assert accepts_event(SHAPE, view(), 'more')
    assert not accepts_event(SHAPE, view(active=(PATH('ab'),)), 'more')
    assert not accepts_event(SHAPE, view(), 'less')


def test_a_blocked_step_names_its_dependency():
    plan = [{'id': '1', 'state': 'completed'}, {'id': '2', 'state': 'pending'}]
    assert step_stands({'state': 'blocked', 'after': ['1', '2']}, plan) == 'waits for 2'
    assert step_stands({'state': 'blocked', 'after': ['1']}, plan) == 'blocked'
    assert step_stands({'state': 'in progress'}, plan) == 'in progress'


def test_no_entry_of_a_plan_is_in_progress_once_its_run_has_ended():
    inner = [{'id': 'b', 'state': 'in progress'}]
    plan = [{'id': 'a', 'state': 'in progress', 'steps': inner}, {'id': 'c', 'state': 'pending'}]
    assert settled_steps(plan, ended=False) == plan
    first, second = settled_steps(plan, ended=True)
    assert first['state'] == first['steps'][0]['state'] == 'stopped' and second['state'] == 'pending'


def test_exactly_the_states_of_a_phase_are_styled():
    sheet = (STYLES / 'panels' / 'time.css').read_text()
    dressed = {name for name in re.findall(r'\.phase(?:\.|:not\(\.)([\w-]+)', sheet)}
    assert dressed == {state_class(state) for state in STATES}

"""A run as people read it: blocks, marks, reasons, durations."""

from dataclasses import replace

import pytest

from engine import Event, Status, Transition
from engine.journal import fold
from engine.records import (
    Change,
    Edge,
    EdgeShape,
    GuardResult,
    MarkField,
    RunId,
    Shape,
    StatePath,
    StateShape,
)
from ui.formatting.steps import (
    brief_value,
    clock_end,
    duration,
    edge_outcomes,
    elapsed,
    excerpt,
    own_seconds,
    previous_values,
    short_json,
)
from ui.web.replay.conversation import agent_blocks, json_to_markdown, transcript_entry
from ui.web.replay.marks import Mark, mark_of

PATH = StatePath
MARKS = (MarkField(kind='revision', field='revision_count'),)


def step(name: str, *, seq: int = 5, at: str = '', data: dict | None = None, **facts: object) -> Transition:
    event = Event(name=name, at=PATH(at), data=data or {})
    return Transition(run=RunId('r'), seq=seq, time=1.0, event=event, **facts)


def edge(dest: str, conditions: tuple[str, ...] = (), unless: tuple[str, ...] = ()) -> EdgeShape:
    return EdgeShape(trigger='done', source=PATH('a'), dest=dest, conditions=conditions, unless=unless)


def guard(name: str, value: bool, dest: str, *, wanted: bool = True) -> GuardResult:
    return GuardResult(name=name, value=value, wanted=wanted, source=PATH('a'), dest=dest)


SHAPE = Shape(
    pattern='p',
    title='P',
    initial=PATH('a'),
    states=(StateShape(path=PATH('a'), name='a', parent=PATH(''), kind='compound', role='fact_checker'),),
    edges=(edge('b', ('fits',)), edge('c', unless=('late',)), edge('d')),
)


def test_explanations_tell_blocked_edges_from_those_not_evaluated():
    transition = step(
        'done',
        at='a',
        edges=(Edge(source=PATH('a'), dest='c'),),
        guards=(guard('fits', False, 'b'), guard('late', False, 'c', wanted=False)),
    )
    first, second, third = edge_outcomes(transition, SHAPE)
    assert (first.taken, first.reason) == (False, 'Not possible')
    assert (second.taken, second.reason) == (True, 'Taken')
    assert (third.taken, third.reason) == (False, 'Not checked: an earlier one applied')


def test_going_back_is_a_revision_and_moving_forward_is_not():
    visits = {'a': [2], 'b': [4]}
    back = step('done', seq=6, left=(PATH('b'),), entered=(PATH('a'),))
    forward = step('done', seq=6, left=(PATH('a'),), entered=(PATH('b'),))
    mark = mark_of(back, MARKS, visits)
    assert mark is not None
    assert (mark.kind, mark.text) == ('revision', 'back to a')
    assert mark_of(forward, MARKS, visits) is None


def test_a_counted_revision_is_marked_where_it_starts():
    visits = {'iterating': [4], 'weighing': [8]}
    decides = step('always', seq=9, left=(PATH('weighing'),), entered=(PATH('iterating'),))
    decides = replace(decides, active=(PATH('iterating'),))
    assert mark_of(decides, MARKS, visits) is None
    counted = Change(op='replace', path='/memory/revision_count', value=2)
    begins = step(
        'always', seq=10, left=(PATH('iterating'),), entered=(PATH('revising'),), changes=(counted,)
    )
    assert mark_of(begins, MARKS, visits) == Mark(seq=10, kind='revision', text='revision 2 begins')


@pytest.mark.parametrize(
    ('name', 'data', 'kind', 'text'),
    [
        ('failed', {'error': 'no disk'}, 'error', 'no disk'),
        ('retry', {'error': 'busy', 'delay': 1.5}, 'error', 'busy; attempt 1 in 1.5 s'),
        ('cancel', {'reason': 'enough'}, 'human', 'cancelled the run: enough'),
        ('recover', {}, 'restart', 'recovered: the work in flight was restarted'),
        ('recover', {'paused': True}, 'restart', 'recovered: the work in flight was restarted; paused'),
        ('recover', {'forked': 'x@3', 'paused': False}, 'restart', 'forked from run x at step 3'),
        ('recover', {'forked': 'x@3', 'retried': True}, 'restart', 'retried from run x at step 3'),
        (
            'recover',
            {'forked': 'x@3', 'playing': True},
            'restart',
            'forked from run x at step 3: later steps are replayed from the record',
        ),
        (
            'recover',
            {'left': 'nothing is recorded of how a.b_c ended'},
            'restart',
            'nothing is recorded of how a › b c ended: it continues on its own from here',  # noqa: RUF001
        ),
        (
            'pause',
            {'reason': 'breakpoint 1 at step 4: leave a.b', 'breakpoints': ['1']},
            'pause',
            'stopped at breakpoint 1 at step 4: leaving a › b',  # noqa: RUF001
        ),
        ('done', {'output': {'approved': False}}, 'rejected', 'sent back'),
    ],
)
def test_a_step_has_a_mark(name, data, kind, text):
    mark = mark_of(step(name, data=data), MARKS, {})
    assert mark is not None
    assert (mark.kind, mark.text) == (kind, text)


@pytest.mark.parametrize(
    ('name', 'data', 'person'),
    [
        ('pause', {}, True),
        ('pause', {'reason': 'breakpoint 1 at step 4: leave a', 'breakpoints': ['1']}, False),
        ('pause', {'reason': 'nothing is recorded of how a ended; resume to go on live'}, False),
        ('breakpoints', {'breakpoints': []}, True),
        ('breakpoints', {'problems': {'1': 'no such key'}}, False),
        ('recover', {'left': 'nothing is recorded any more'}, False),
        ('resume', {}, True),
    ],
)
def test_engine_actions_are_not_attributed_to_people(name, data, person):
    entry = transcript_entry(step(name, data=data), SHAPE)
    assert entry is not None
    assert (entry['kind'], entry['title']) == (('human', 'You') if person else ('event', ''))


def test_a_tool_call_and_its_result_are_one_block():
    call = {'kind': 'call', 'id': '1', 'name': 'notes', 'arguments': '{}'}
    result = {'kind': 'result', 'id': '1', 'name': 'notes', 'text': 'none', 'ok': False}
    messages = [{'role': 'assistant', 'parts': [call]}, {'role': 'tool', 'parts': [result]}]
    (block,) = agent_blocks({'messages': messages})
    assert (block['title'], block['note'], block['text'], block['ok']) == ('notes', 'failed', 'none', False)
    (waiting,) = agent_blocks({'messages': messages[:1]})
    assert (waiting['note'], waiting['ok']) == ('requested', None)


def test_a_json_answer_is_shown_as_text():
    markdown = json_to_markdown(
        '{"approved": true, "open_points": ["one", {"a": 0.30000000000000004}], "score": 91}'
    )
    assert markdown.split('\n\n') == [
        '**Approved**: yes',
        '**Open points**',
        '- one\n- A: 0.3',
        '**Score**: 91',
    ]
    listed = json_to_markdown('{"output": "- one\\n- two", "evidence": ["a\\nb", "- c"]}')
    assert listed == '**Output**:\n\n- one\n- two\n\n**Evidence**\n\n- a\n  b\n- c'
    assert json_to_markdown('{"verdict": "REVISE_BEST", "comments": [{"state": "NOT_YET"}]}') == (
        '**Verdict**: revise best\n\n**Comments**\n\n- State: not yet'
    )
    assert json_to_markdown('{not json') == '{not json'
    assert json_to_markdown('plain') == 'plain'


def test_the_transcript_holds_only_messages_and_failures():
    message = {'role': 'assistant', 'parts': [{'kind': 'text', 'text': 'Hello'}]}
    entry = transcript_entry(step('done', at='a.thinking', data={'message': message, 'model': 'm'}), SHAPE)
    assert entry is not None
    assert (entry['kind'], entry['title'], entry['note'], entry['text']) == (
        'text',
        'Fact checker',
        'm · step 5',
        'Hello',
    )
    mishap = transcript_entry(step('expired', at='a', data={'error': 'too slow'}), SHAPE)
    assert mishap is not None
    assert mishap['text'] == 'too slow'
    assert transcript_entry(step('done', at='a'), SHAPE) is None


def test_previous_values_are_found_for_each_change():
    document = {'memory': {'a/b': [1, 2], 'n': None}}
    changes = [
        Change(op='replace', path='/memory/a~1b/1', value=3),
        Change(op='add', path='/memory/new', value=1),
    ]
    assert previous_values(document, changes) == [2, None]


def test_appending_does_not_read_the_whole_list():
    class Unread(dict):
        def __getitem__(self, name):
            raise AssertionError(name)

    added = Change(op='add', path='/memory/log/-', value=1)
    assert previous_values({'memory': Unread(log=[])}, [added]) == [None]


@pytest.mark.parametrize(
    ('seconds', 'text'),
    [(-1, '0.0 s'), (0.44, '0.4 s'), (12.9, '12 s'), (187, '3:07'), (3765, '1:02:45')],
)
def test_durations_are_formatted(seconds, text):
    assert duration(seconds) == text


def test_a_short_text_is_one_line():
    assert short_json('a\n b') == 'a b'
    assert short_json({'a': [1]}) == '{"a": [1]}'
    assert short_json('x' * 200, 10) == 'x' * 9 + '…'


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('# Delivery\n\n**Buy** the `bike`.', 'Delivery Buy the bike.'),
        ('| | Bike | Van |\n|---|---|---|\n| Price | 7 | 24 |', 'Bike Van Price 7 24'),
        ('a|b, 3 - 2, and well-known--- words', 'a|b, 3 - 2, and well-known--- words'),
        ('x' * 200, 'x' * 119 + '…'),
    ],
)
def test_a_summary_has_no_markup(text, expected):
    assert excerpt(text) == expected


@pytest.mark.parametrize(('status', 'end'), [('running', 9.0), ('paused', 2.0), ('done', 2.0)])
def test_clocks_stop_while_a_run_is_paused_or_ended(status: str, end: float) -> None:
    view = replace(fold(RunId('r'), SHAPE, [step('start')]), status=Status(status), time=2.0)
    assert clock_end(view, 9.0) == end


def test_a_forks_time_excludes_inherited_steps() -> None:
    assert elapsed(100.0, 160.0, born=100.0) == 60.0
    assert elapsed(100.0, 760.0, born=700.0) == 60.0  # forked ten minutes later
    assert elapsed(100.0, 130.0, born=700.0) == 30.0  # viewed before the fork: as it was then
    assert elapsed(100.0, 99.0, born=100.0) == 0.0


def test_a_forks_running_time_is_its_own() -> None:
    view = fold(RunId('r'), SHAPE, [step('start')])
    view = replace(view, started=100.0, time=750.0, ran=650.0, inherited_ran=600.0)
    assert own_seconds(view, 760.0) == 60.0


@pytest.mark.parametrize(
    ('value', 'words'),
    [
        (None, 'none'),
        ('', 'empty'),
        ([], 'empty'),
        ({}, 'empty'),
        (False, 'false'),
        (0, '0'),
        (0.5, '0.5'),
        (123456.789, '123,457'),
        ({'prime': 2, 'composite': 0.123456789}, 'prime: 2, composite: 0.1235'),
        (['racer1', None], 'racer1, none'),
        ({'racer1': {'notes': 'x' * 80}}, '1 entry'),
        (['x' * 80, 'y'], '2 entries'),
        ('x' * 80, f'{"x" * 59}…'),
    ],
)
def test_a_value_is_summarized(value, words):
    assert brief_value(value) == words

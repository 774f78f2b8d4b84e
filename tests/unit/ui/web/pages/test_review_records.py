"""What the board and the candidates read from memory: rounds, agreement, turns, tests, rankings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine import Event, Pattern, PatternError, Status, Transition
from engine.journal import Fold
from engine.patterns import Position, Suite, Utterance
from engine.patterns.competition.race import Race
from engine.patterns.pipeline.pattern import Pipeline
from engine.patterns.review.pattern import ParallelReview
from engine.records import Change, RunId, View
from engine.statechart import read_leniently
from engine.statechart.shape_builder import build_shape
from engine.statechart.validation import validate_pattern
from ui.web.components.forms.fields import fields
from ui.web.components.forms.narrow_model import narrow_model
from ui.web.pages.run.review.coder_seat import coder_turn
from ui.web.pages.run.review.contest import contestants, versions_at
from ui.web.pages.run.review.debates import (
    REVIEWER,
    Turn,
    current_turn,
    debate_turns,
    debates,
    is_debating,
    measure_agreement,
    seats_for,
    speakers,
)
from ui.web.pages.run.review.points import link_points
from ui.web.pages.run.review.verdict import test_line as line_of
from ui.web.replay.history import History

SHAPE = build_shape(ParallelReview(ParallelReview.Parameters(task='Write it.', coders=2, reviewers=2)))


def make_view(active: tuple[str, ...] = (), **memory: Any) -> View:
    return replace(Fold(RunId('r'), SHAPE).view, active=active, memory=memory)


def say(speaker: str, round_: int, verdict: str, best: str, debate: int = 1, **more: Any) -> dict[str, Any]:
    position = {'verdict': verdict, 'best': best, **{k: v for k, v in more.items() if k in POSITION}}
    rest = {k: v for k, v in more.items() if k not in POSITION}
    return {
        'speaker': speaker,
        'round': round_,
        'debate': debate,
        'phase': 'debate',
        'position': position,
        **rest,
    }


APART = [
    Position(text='', verdict='APPROVE', best='a'),
    Position(text='', verdict='REVISE_BEST', best='b'),
]
POSITION = ('agrees', 'ranking', 'concedes', 'insists')


def make_append(seq: int, path: str, time: float = 5.0) -> Transition:
    change = Change(op='add', path=f'{path}/-', value={})
    return Transition(run=RunId('r'), seq=seq, time=time, event=Event(name='done'), changes=(change,))


def test_the_shape_names_the_seats_and_the_debate():
    assert (SHAPE.field('debate'), SHAPE.field('candidates')) == ('transcript', 'candidates')
    assert SHAPE.seats == ('coder1', 'coder2', 'reviewer1', 'reviewer2')
    assert seats_for(SHAPE, REVIEWER) == ['reviewer1', 'reviewer2']
    race = build_shape(Race(Race.Parameters(task='Write it.')))
    assert (race.field('debate'), race.field('candidates')) == ('', 'candidates')
    pipeline = build_shape(Pipeline(Pipeline.Parameters(task='Think.')))
    assert (pipeline.field('debate'), pipeline.field('candidates'), pipeline.seats) == ('', '', ())


@pytest.mark.parametrize('part', ['debate', 'candidates'])
def test_a_pattern_cannot_name_a_missing_memory_field(part):
    class Wrong(Pattern):
        initial = 'a'

    Wrong.states = ['a', {'name': 'b', 'final': True}]
    Wrong.transitions = [['always', 'a', 'b']]
    Wrong.panels = {part: 'nothing'}
    with pytest.raises(PatternError, match=f"{part}: Memory has no field 'nothing'"):
        validate_pattern(Wrong())


def test_rounds_are_columns_and_agreement_grows():
    words = [
        say('reviewer1', 0, 'REVISE_BEST', 'coder2', debate=0, ranking=['coder2', 'coder1']),
        say('reviewer2', 0, 'REVISE_ALL', 'coder1', debate=0, ranking=['coder1', 'coder2']),
        say('reviewer1', 1, 'REVISE_BEST', 'coder2', ranking=['coder2', 'coder1']),
        say('reviewer2', 1, 'REVISE_BEST', 'coder1', ranking=['coder1', 'coder2']),
        say('reviewer1', 2, 'REVISE_BEST', 'coder2', ranking=['coder2', 'coder1'], concedes=['tests']),
        say('reviewer2', 2, 'REVISE_BEST', 'coder1', ranking=['coder1', 'coder2']),
        say('reviewer1', 3, 'REVISE_BEST', 'coder2', ranking=['coder2', 'coder1']),
        say('reviewer2', 3, 'REVISE_ALL', 'coder1', ranking=['coder1', 'coder2']),
        say('reviewer1', 4, 'REVISE_ALL', 'coder1', ranking=['coder1', 'coder2'], agrees=True),
    ]
    view = make_view(transcript=words, consensuses=[{'debate': 1, 'verdict': 'REVISE_ALL'}])
    turns = debate_turns(view, SHAPE, History())
    (debate,) = debates(turns, view, History())
    assert [item.number for item in debate.rounds] == [0, 1, 2, 3, 4]
    trends = [item.agreement.trend for item in debate.rounds if item.agreement]
    assert trends == ['', 'closer', 'closer', 'apart', 'agreed']
    assert debate.rounds[2].agreement.conceded == 1
    assert debate.consensus.verdict == 'REVISE_ALL'
    assert speakers(turns, SHAPE) == ['reviewer1', 'reviewer2']


def test_identical_positions_count_as_agreement():
    alike = [Position(text='', verdict='APPROVE', best='a')] * 2
    assert measure_agreement(alike, alike, measure_agreement(APART, APART, None)).trend == 'agreed'


def test_a_single_position_has_no_agreement():
    assert measure_agreement(APART[:1], [], None) is None


def test_agreement_does_not_grow_without_changes():
    first = measure_agreement(APART, APART, None)
    assert measure_agreement(APART, [*APART, None], first).trend == 'same'
    assert first.ranked is None


def test_a_synthesis_has_no_row_and_a_later_debate_has_its_own_table():
    words = [
        say('reviewer1', 1, 'REVISE_BEST', 'coder2'),
        say('synthesizer', 1, 'REVISE_BEST', 'coder2', synthesized=True),
        say('reviewer1', 1, 'APPROVE', 'coder2', debate=2, phase='final'),
    ]
    view = make_view(transcript=words, debate={'number': 2, 'phase': 'final', 'round': 1})
    turns = debate_turns(view, SHAPE, History())
    first, second = debates(turns, view, History())
    assert set(first.rounds[0].turns) == {'reviewer1'}
    assert (first.phase, second.phase) == ('debate', 'final')
    assert speakers(turns, SHAPE) == ['reviewer1', 'reviewer2']


def test_statements_link_to_their_step_if_known():
    history = History()
    history.add(make_append(33, '/memory/transcript', 7.0))
    view = make_view(transcript=[say('reviewer1', 1, 'APPROVE', ''), say('reviewer2', 1, 'APPROVE', '')])
    assert [(turn.seq, turn.time) for turn in debate_turns(view, SHAPE, history)] == [(33, 7.0), (0, 0.0)]


@pytest.mark.parametrize(
    ('leaf', 'whose'),
    [
        ('debating.reviewer2.person', ('reviewer2', True)),
        ('debating.reviewer1.speaking.thinking', ('reviewer1', False)),
        ('debating.reviewer1.spoken', ('', False)),
        ('debating.checking', ('', False)),
        ('reviewing.reviewer1.reading.thinking', ('', False)),
    ],
)
def test_the_shape_says_whose_turn_it_is(leaf, whose):
    assert current_turn(make_view((leaf,)), SHAPE) == whose
    assert is_debating(make_view((leaf,)), SHAPE) is leaf.startswith('debating.')


@pytest.mark.parametrize('memory', [{}, {'transcript': 'x'}, {'transcript': [1, {'position': 3}]}])
def test_memory_of_another_form_is_tolerated(memory):
    view = make_view(candidates=['x'], standings=3, consensuses={}, **memory)
    turns = debate_turns(view, SHAPE, History())
    assert debates(turns, view, History()) is not None
    assert contestants(view, SHAPE, History()) == []


def test_records_of_another_version_are_shown():
    version = make_version(1, 2, 0) | {'mood': 'good'}
    version['evidence']['required']['seconds'] = 3
    words = [
        say('reviewer1', 1, 'REVISE', 'coder1', mood='good'),
        {'speaker': 'reviewer2', 'problem': 'late'},
    ]
    view = make_view(candidates={'coder1': {'versions': [version], 'age': 3}}, transcript=words)
    first, second = (turn.utterance for turn in debate_turns(view, SHAPE, History()))
    assert first.position.verdict == 'REVISE' and second.position is None and second.problem == 'late'
    (contestant,) = contestants(view, SHAPE, History())
    assert (contestant.name, contestant.status) == ('coder1', 'working')
    assert line_of(contestant.candidate.latest.evidence.required) == '2 passed'


def make_version(number: int, passed: int, failed: int) -> dict[str, Any]:
    suite = {'passed': passed, 'failed': failed, 'failures': [{'name': 't', 'detail': 'no'}] * bool(failed)}
    return {
        'number': number, 'snapshot': f's{number}', 'evidence': {'required': suite, 'own': {}},
        'files': [{'path': 'a.py', 'digest': 'd', 'size': 3}], 'answers': ['more tests'] * (number > 1),
    }  # fmt: skip


def test_candidates_are_ranked_with_their_tests():
    candidates = {
        'coder1': {
            'status': 'ready',
            'versions': [make_version(1, 2, 1), make_version(2, 3, 0)],
            'model': 'm',
        },
        'coder2': {'status': 'ready', 'versions': [make_version(1, 1, 2)]},
        'coder3': {'status': 'failed', 'problem': 'out of time', 'versions': []},
    }
    standings = [{'coder': 'coder2', 'points': 2.0}, {'coder': 'coder1', 'points': 1.0}]
    history = History()
    for seq in (5, 12):
        history.add(make_append(seq, '/memory/candidates/coder1/versions'))
    view = make_view(
        candidates=candidates, standings=standings, choices=[{'candidate': 'coder2', 'by': 'person'}]
    )
    contestant_rows = contestants(view, SHAPE, history)
    assert [(item.name, item.rank, item.picked) for item in contestant_rows] == [
        ('coder2', 1, 'person'), ('coder1', 2, ''), ('coder3', 0, ''),
    ]  # fmt: skip
    assert (contestant_rows[0].seqs, contestant_rows[1].seqs) == ((0,), (5, 12))
    second, first = (item.candidate for item in contestant_rows[:2])
    assert line_of(first.versions[0].evidence.required) == '2 passed, 1 failed'
    assert first.latest.evidence.ok and not second.latest.evidence.ok
    assert [item.candidate.in_play for item in contestant_rows] == [True, True, False]
    # At step 8, reviewers saw the first version.
    assert [(name, version.number) for name, version in versions_at(contestant_rows, 8)] == [
        ('coder2', 1),
        ('coder1', 1),
    ]


def test_agents_active_at_the_end_are_shown_as_stopped():
    candidates = {
        'racer1': {'status': 'ready', 'versions': [make_version(1, 2, 0)]},
        'racer2': {'status': 'working'},
    }
    running = make_view(candidates=candidates)
    assert [candidate.status for candidate in contestants(running, SHAPE, History())] == ['ready', 'working']
    won = make_view(candidates=candidates, winner='racer1')
    assert [candidate.status for candidate in contestants(won, SHAPE, History())] == ['ready', 'stopped']
    cancelled = replace(running, status=Status.CANCELLED)
    assert [candidate.status for candidate in contestants(cancelled, SHAPE, History())] == [
        'ready',
        'stopped',
    ]


def test_tests_without_a_result_do_not_count_as_passed():
    assert not Suite().ok and line_of(Suite()) == 'no test was found'
    ended = Suite(passed=3, problem='it was ended')
    assert not ended.ok and line_of(ended) == 'no result'
    assert (
        not Suite(passed=3, skipped=1).ok
        and line_of(Suite(passed=3_000, skipped=1)) == '3,000 passed, 1 skipped'
    )
    assert line_of(Suite(passed=1, counted=False)) == 'the test command succeeded; it reported no tests'


class Asked(BaseModel):
    who: str
    best: str = Field('', title='Best')
    text: str = Field(min_length=1)


def test_a_form_omits_known_values_and_lists_choices():
    model = narrow_model(Asked, without=('who',), choices={'best': ['coder1', 'coder2']})
    text, best = sorted(fields(model), key=lambda field: field.name, reverse=True)
    assert (best.kind, best.choices, best.labels) == ('choice', ('', 'coder1', 'coder2'), {'': '–'})
    assert text.minimum == 1
    assert model.model_validate({'text': 'x'}).best == ''
    assert narrow_model(Asked, choices={'best': []}).model_fields['best'].annotation is str


def test_an_inserted_element_shifts_the_steps_of_later_ones():
    history = History()
    for seq, place in ((3, '-'), (7, '0'), (9, '-')):
        change = Change(op='add', path=f'/memory/transcript/{place}', value={})
        event = Event(name='done')
        history.add(Transition(run=RunId('r'), seq=seq, time=5.0, event=event, changes=(change,)))
    assert [seq for seq, _ in history.appended_to('transcript')] == [7, 3, 9]


def test_in_the_first_review_only_human_turns_are_shown():
    thinking = ('reviewing.reviewer1.reading.thinking', 'reviewing.reviewer2.reading.thinking')
    assert current_turn(make_view(thinking), SHAPE) == ('', False)
    assert not is_debating(make_view(thinking), SHAPE)
    by_person = (thinking[0], 'reviewing.reviewer2.person')
    assert current_turn(make_view(by_person), SHAPE) == ('reviewer2', True)
    assert coder_turn(make_view(('implementing.coder2.person',)), SHAPE) == 'coder2'
    assert coder_turn(make_view(('implementing.coder2.working.thinking',)), SHAPE) == ''


def test_answers_are_linked_to_points_and_unanswered_points_are_open():
    def turn(speaker: str, round_: int, seq: int, insists: list[str], *answers: tuple[str, str]) -> Turn:
        stances = [{'to': to, 'stance': stance, 'why': 'so'} for to, stance in answers]
        entry = {
            'speaker': speaker, 'debate': 1, 'round': round_,
            'position': {'insists': insists, 'changes': ['more'], 'answers': stances},
        }  # fmt: skip
        return Turn(utterance=read_leniently(Utterance, entry), seq=seq)

    turns = [
        turn('reviewer1', 1, 5, ['a', 'b']),
        turn('reviewer2', 1, 8, ['c'], ('reviewer1/1.1/1', 'rebuts'), ('reviewer1/1.1/3', 'accepts')),
        turn('reviewer1', 2, 11, ['b'], ('reviewer9/1.1/1', 'rebuts')),
        turn('reviewer2', 2, 14, ['d']),
    ]
    points = link_points(turns)
    rebuttal = points.replies['reviewer1/1.1/1'][0]
    assert (rebuttal.speaker, rebuttal.whose, rebuttal.point, rebuttal.seq) == (
        'reviewer2', 'reviewer1', 'a', 8,
    )  # fmt: skip
    assert points.replies['reviewer1/1.1/3'][0].point == 'more'
    assert points.replies_in(turns[2])[0].whose == ''  # there is no such point
    assert points.open == {'reviewer1/1.2/1'}  # nobody could answer the last statement

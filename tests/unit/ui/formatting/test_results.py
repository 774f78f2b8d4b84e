"""What came out of a run, read from the recorded journal of each pattern."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from engine import Catalog, Transition
from engine.journal import fold
from engine.models.scripted.library import scenarios
from engine.records import RunId
from ui.formatting.results.blocks import Bars, Facts, Patch, Points, Prose, Remarks, Result, Rows
from ui.formatting.results.result import KINDS, PANEL, read_result

JOURNALS = Path('tests/golden/journals')
STEPS: TypeAdapter[list[Transition]] = TypeAdapter(list[Transition])
CATALOG = Catalog.load()


@cache
def result_of(name: str) -> Result:
    document = json.loads((JOURNALS / f'{name}.json').read_text('utf-8'))
    shape = CATALOG.draw(document['pattern'], document['parameters'])
    view = fold(RunId('r'), shape, STEPS.validate_python(document['steps']))
    return read_result(shape, view, lambda field: (61.0,))


def find(name: str, kind, title: str = ''):
    """Return a block of a result; a failure names what there is."""
    blocks = [*result_of(name).main, *result_of(name).aside]
    found = [block for block in blocks if isinstance(block, kind) and (not title or block.title == title)]
    assert found, blocks
    return found[0]


@pytest.mark.parametrize('name', sorted(CATALOG.patterns))
def test_each_pattern_asks_for_a_kind_and_its_samples_have_a_result(name: str) -> None:
    parts = CATALOG.pattern(name).sample().chart_panels()[PANEL]
    assert len(parts) == 1 and set(parts) <= set(KINDS)
    results = [result_of(sample.name) for sample in scenarios(name)]
    assert any(result.main for result in results)


@pytest.mark.parametrize(
    ('name', 'headline'),
    [
        ('pseudoprime', 'Composite · decided by the count'),
        ('leap', 'racer2 won: 18 passed.'),
        ('judge-two-factors', 'The answer is better'),
        ('bech32', 'Approved: coder1, version 2, after 1 revision. Required tests: 63 passed.'),
        ('event-sourcing', 'Approved after 2 revisions, with a score of 91'),
        ('bakery-forecast', 'Not approved after 2 revisions, with a score of 67'),
        ('heat-pump', 'Approved without a revision, with a score of 93'),
        ('street-fair', '3 of 5 tasks done'),
        ('nothing-to-plan', 'The note has been approved and sent, so no work is left.'),
        ('price-parser', 'The goal is reached: The parser reads four currencies and converts between them.'),
        ('word-statistics', 'The time limit of 60 seconds was reached.'),
        ('blog-short', '170 words · 1 min read'),
        ('builder-slugs', ''),
        ('triager-weather', 'units is to blame for tests/test_weather.py::test_a_day_is_reported_in_celsius'),
    ],
)
def test_the_headline_says_how_it_ended(name: str, headline: str) -> None:
    assert result_of(name).headline == headline


def test_a_tally_has_the_votes_and_the_tie_before() -> None:
    assert [(bar.label, bar.value, bar.note) for bar in find('pseudoprime', Bars).bars] == [
        ('Composite', 4, 'Voter 1, Voter 2, Voter 3, Voter 4')
    ]
    assert find('pseudoprime', Points, 'Ballots').points == (
        'Ballot 1: Prime (2), composite (2): a tie',
        'Ballot 2: composite (4)',
    )


def test_a_podium_has_places_tests_times_and_the_winning_change() -> None:
    rows = find('leap', Rows).rows
    assert [(row.mark, row.name, row.chosen) for row in rows] == [
        ('1st', 'racer2', True),
        ('2nd', 'racer1', False),
        ('', 'racer3', False),
    ]
    assert rows[0].facts == ('18 passed', '1:01') and rows[1].tone == 'bad'
    assert find('leap', Patch).agent == 'racer2'


def test_a_review_says_who_approved_what_and_how_the_debate_went() -> None:
    rows = find('bech32', Rows).rows
    assert rows[0].facts == ('version 2', '4 points', '63 passed') and rows[0].chosen
    assert find('bech32', Points, 'Approved by Reviewer 1 and Reviewer 2').points
    debate = find('bech32', Points, 'The debate').points
    assert len(debate) == 3 and debate[0] == 'At first: Reviewer 1 for coder2, Reviewer 2 for coder1'


def test_a_pipelines_score_rises_by_revision_and_open_points_stay() -> None:
    assert [bar.value for bar in find('event-sourcing', Bars).bars] == [58, 74, 91]
    assert [bar.tone for bar in find('event-sourcing', Bars).bars] == ['', '', 'good']
    assert find('bakery-forecast', Points, 'Still open').points[0].startswith('Season: still missing')


def test_each_worker_has_a_share_and_a_failed_one_says_why() -> None:
    lawyer = find('street-fair', Rows).rows[0]
    assert (lawyer.name, lawyer.facts, lawyer.tone) == ('Lawyer', ('0 of 1 task', 'permits'), 'bad')
    assert lawyer.note == "No worker has the role 'lawyer'."


def test_a_session_has_its_goal_steps_time_and_gates() -> None:
    facts = {fact.name: fact.words for fact in find('price-parser', Facts).facts}
    assert facts == {
        'Goal': 'reached',
        'Steps': '3 of 3',
        'Time': '15 s of 10:00',
        'Tests': '17 passed, 0 failed',
    }
    gates = {bar.label: bar.words for bar in find('price-parser', Bars).bars}
    assert gates['Code approval'] == '4 of 5 passed'


def test_a_piece_is_set_to_be_read_and_a_patch_has_the_tests_before_and_after() -> None:
    assert find('podcast-night-train', Prose).as_piece
    assert [(fact.words, fact.tone) for fact in find('debugger-spans', Facts).facts] == [
        ('5 passed, 2 failed in 0.5 s', 'bad'),
        ('7 passed in 0.7 s', 'good'),
    ]


def test_findings_stand_at_their_lines_the_gravest_first() -> None:
    remarks = find('code-review-slugs', Remarks).remarks
    assert [(remark.severity, remark.file, remark.line) for remark in remarks] == [
        ('blocker', 'slugs.py', 12),
        ('major', 'slugs.py', 7),
        ('major', 'tests/test_slugs.py', 4),
        ('minor', 'slugs.py', 16),
    ]

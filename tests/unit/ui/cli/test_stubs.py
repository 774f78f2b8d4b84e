"""Stubs: a file's answers take the place of models, and those that no agent can give are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Hemicycle, invoke
from ui.formatting.values import ORIGIN_NOTES

ANSWERS = """
researcher:
  - findings: [Tea is cheaper.]
analyzer:
  - Buy coffee.
  - Buy tea.
reviewing:
  - {approved: false, score: 40, summary: It contradicts the findings., comments: [Follow the findings.]}
  - {approved: true, score: 90, summary: Good.}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / 'tea.stubs.yaml'
    path.write_text(ANSWERS)
    return path


def test_a_run_takes_its_answers_from_stubs_visit_by_visit(hemicycle: Hemicycle, file: Path) -> None:
    result = hemicycle('run', 'pipeline', '--task', 'Tea or coffee?', '--stubs', str(file))
    assert result.exit_code == 0, result.output
    assert 'Buy tea.' in result.stdout and ORIGIN_NOTES['stubbed'] in result.stderr
    info = hemicycle.newest()
    assert info.simulated and set(info.options['stubs']) == {'researcher', 'analyzer', 'reviewing'}
    replies = [step.event.data for step in hemicycle.steps(info.id) if 'message' in step.event.data]
    assert [reply['source'] for reply in replies] == ['stubbed'] * 5
    assert not [reply for reply in replies if reply.get('unfit')]


def test_a_run_with_some_stubs_asks_models_for_the_rest(hemicycle: Hemicycle, tmp_path: Path) -> None:
    path = tmp_path / 'one.json'
    path.write_text(json.dumps({'analyzing': ['Buy tea.']}))
    assert 'Buy tea.' in invoke(
        hemicycle, 'run', 'pipeline', '--task', 'Tea?', '--stubs', str(path), '--quiet'
    )
    replies = [step.event.data for step in hemicycle.steps(hemicycle.newest().id)]
    assert {reply['source'] for reply in replies if 'message' in reply} == {'simulated', 'stubbed'}


@pytest.mark.parametrize(
    ('wrong', 'place', 'problem'),
    [
        ('analyzer: [A]\nreviewer:\n  - {approved: true, score: 101, summary: B}', 3, 'visit 1, score: '),
        ('reviewer:\n  - {approved: true, score: 1, summary: A}\n  - approved: true', 3, 'visit 2, score: '),
        ('reviewer:\n  - {approved: true, score: 1, summary: A,\n     note: x}', 3, 'note: there is'),
        ('reviewer: [Good.]', 1, 'reviewer, visit 1: this agent answers with a record'),
        ('analyzer: [{text: Buy tea.}]', 1, 'analyzer, visit 1: this agent answers in words'),
        ('analyzer:\n  - - text: Buy tea.\n      mood: good', 3, 'analyzer, visit 1, 0.mood: '),
        ('analyzer: Buy tea.', 1, 'analyzer: must be a list of answers, one for each visit'),
        ('cook: [Buy tea.]', 1, "cook: there is no agent 'cook'; available: analyzer, analyzing, "),
        ('analyzer:\n  - &tea Buy tea.\n  - *tea', 2, 'anchors and aliases do not work here'),
        ('analyzer: [Buy tea.', 2, 'is neither YAML nor JSON'),
        ('analyzer:\n  - !!python/name:os.system x', 2, 'tags such as `!name` do not work here'),
        ('analyzer:\n  - ' + '[' * 50 + ']' * 50, 2, 'is nested more than 40 deep'),
        ('- Buy tea.', 1, 'must name agents, each with a list of its answers'),
    ],
)  # fmt: skip
def test_what_no_agent_can_answer_is_refused_by_line(
    hemicycle: Hemicycle, file: Path, wrong: str, place: int, problem: str
) -> None:
    file.write_text(wrong)
    for command in (['run', 'pipeline', '--task', 'Tea?'], ['pattern', 'rehearse', 'pipeline']):
        output = ' '.join(invoke(hemicycle, *command, '--stubs', str(file), code=2).split())
        assert f'{file}:{place}' in output and problem in output, output
    assert not hemicycle.database.exists()


def test_a_file_that_is_too_large_or_missing_is_refused(hemicycle: Hemicycle, file: Path) -> None:
    file.write_text('analyzer:\n  - ' + 'x' * 300_000)
    rehearse = ('pattern', 'rehearse', 'pipeline', '--stubs')
    assert 'is larger than 256 KB' in invoke(hemicycle, *rehearse, str(file), code=2)
    assert 'cannot be read' in invoke(hemicycle, *rehearse, str(file.with_name('none')), code=2)


def test_a_rehearsal_shows_the_way_that_stubs_lead(hemicycle: Hemicycle, file: Path) -> None:
    rehearse = ('pattern', 'rehearse', 'pipeline', '--stubs', str(file))
    way = invoke(hemicycle, *rehearse).partition('With these stubs:\n')[2].splitlines()
    assert [line.split()[-1] for line in way[-3:-1]] == ['reviewing.thinking', 'complete']
    assert (len(way), way[-1]) == (7, 'The run is done.')
    file.write_text('researcher: [{findings: [Tea is cheaper.]}]')
    unknown = 'It is not known how it goes on: no stub says what comes in analyzing.thinking.'
    assert unknown in invoke(hemicycle, *rehearse)

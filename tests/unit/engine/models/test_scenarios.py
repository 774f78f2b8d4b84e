"""Scenario files: valid ones play to their stated end, others are reported with file, line and field."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from engine import Catalog, LocalConductor, Status, Transition
from engine.journal import MemoryJournal
from engine.models.prepared_replies import Call, Turn
from engine.models.scripted.library import FOLDER, Library, scenarios
from engine.models.scripted.model import Scripted
from engine.models.scripted.scenario import Scenario
from engine.records import Outcome
from tests.support.clocks import IdleClock
from tests.support.harness import to_the_end

SHIPPED = Library.load()
GOOD = """\
name: {name}
title: Good
about: It is good.
pattern: pipeline
task: Weigh the apples
match: {match}
roles:
  researcher:
    - - text: Done.
expect: {{status: done}}
"""


def write_scenario(folder: Path, name: str, match: str = '[apples]') -> str:
    text = GOOD.format(name=name, match=match)
    (folder / f'{name}.yaml').write_text(text, 'utf-8')
    return text


def calls_of(scenario: Scenario) -> Iterator[Call]:
    for visits in scenario.roles.values():
        for turns in visits:
            for turn in turns:
                yield from turn.calls


def runs_tests(scenario: Scenario) -> bool:
    """Whether it needs the sandbox; tests/processes plays those."""
    return 'tests' in scenario.parameters


def test_every_shipped_scenario_loads() -> None:
    assert SHIPPED.faults == ()
    assert {scenario.name for scenario in SHIPPED.scenarios} == {path.stem for path in FOLDER.glob('*.yaml')}
    assert len(SHIPPED.scenarios) >= 4


@pytest.mark.parametrize(
    'scenario',
    [
        pytest.param(
            scenario, id=scenario.name, marks=pytest.mark.slow if 'project' in scenario.parameters else ()
        )
        for scenario in SHIPPED.scenarios
        if not runs_tests(scenario)
    ],
)
async def test_every_shipped_scenario_plays_to_its_stated_end(scenario: Scenario) -> None:
    outcome, steps = await play(scenario)
    expect = scenario.expect
    assert (outcome.status, outcome.error) == (Status(expect.status), outcome.error)
    assert expect.error in outcome.error
    assert {name: outcome.memory[name] for name in expect.memory} == expect.memory
    assert {name: len(outcome.memory[name]) for name in expect.counts} == expect.counts
    results = [result for step in steps for result in step.event.data.get('results', ())]
    # Some samples are about a failing test.
    assert all(result['ok'] for result in results if result['name'] != 'run_tests')
    assert {call.gives for call in calls_of(scenario) if call.gives} <= {result['text'] for result in results}
    # A stated answer must match its schema at the first attempt.
    assert not [step for step in steps if step.event.data.get('unfit')]


@pytest.mark.parametrize('scenario', SHIPPED.scenarios, ids=lambda scenario: scenario.name)
def test_stated_numbers_match_the_scenario(scenario: Scenario) -> None:
    assert all(call.gives for call in calls_of(scenario) if call.tool == 'calculator')


async def test_event_sourcing_is_sent_back_twice_and_retried_once() -> None:
    scenario = next(each for each in SHIPPED.scenarios if each.name == 'event-sourcing')
    outcome, _ = await play(scenario)
    assert [review['score'] for review in outcome.memory['reviews']] == [58, 74, 91]
    drafts = [draft['text'] for draft in outcome.memory['drafts']]
    assert len(set(drafts)) == 3
    assert all(200 <= len(draft.split()) <= 420 for draft in drafts)
    assert outcome.answer == drafts[-1]


def test_samples_have_the_values_of_a_form() -> None:
    samples = scenarios('pipeline')
    assert {sample.name for sample in samples} >= {'event-sourcing', 'heat-pump'}
    for sample in samples:
        assert sample.title and sample.about
        assert sample.parameters['task'] == sample.task
    assert scenarios('there is none') == []


def test_the_longest_match_wins(tmp_path: Path) -> None:
    write_scenario(tmp_path, 'plain')
    write_scenario(tmp_path, 'special', '[weigh, apples]')
    library = Library.load(tmp_path)
    assert [scenario.name for scenario in library.scenarios] == ['plain', 'special']
    assert find_name(library, 'WEIGH some Apples') == 'special'
    assert find_name(library, 'Eat apples') == 'plain'
    assert find_name(library, 'Eat pears') == ''
    assert library.find('debate', 'Eat apples') is None


@pytest.mark.parametrize(
    ('old', 'new', 'line', 'problem'),
    [
        ('status: done', 'status: perfect', 10, 'expect.status'),
        ('title: Good\n', '', 1, 'title: Field required'),
        ('about: It', 'colour: red\nabout: It', 3, 'colour'),
        ('text: Done.', 'txt: Done.', 9, 'roles.researcher.0.0.txt'),
        ('text: Done.', 'reasoning: Hm.', 9, 'roles.researcher.0.0: needs text'),
        ('text: Done.', 'calls: [{tool: notes}]', 1, 'the last turn of visit 1 must not call tools'),
        ('text: Done.', 'answer: {a: 1}\n        text: b', 9, 'answer must stand alone'),
        ('text: Done.', 'text: {a: 1}', 9, 'roles.researcher.0.0.text'),
        ('text: Done.', 'fail: {kind: server}', 9, 'roles.researcher.0.0.fail.message'),
        ('- - text: Done.', 'text: Done.', 9, 'roles.researcher'),
        ('[apples]', '[pears]', 1, 'match: not all of its words occur in the task'),
        ('[apples]', '[]', 6, 'match'),
        ('name: bad', 'name: other', 1, "name: must be 'bad'"),
        ('title: Good', 'title: "Good', 11, 'not YAML'),
        ('title: Good', 'title: Good\x00', 0, 'cannot be read'),
        (GOOD.format(name='bad', match='[apples]'), '- a list', 1, 'the file'),
        (GOOD.format(name='bad', match='[apples]'), '', 0, 'the file'),
    ],
)
def test_a_bad_file_is_reported_and_the_others_load(
    tmp_path: Path, old: str, new: str, line: int, problem: str
) -> None:
    write_scenario(tmp_path, 'good')
    text = write_scenario(tmp_path, 'bad')
    assert old in text
    (tmp_path / 'bad.yaml').write_text(text.replace(old, new), 'utf-8')
    library = Library.load(tmp_path)
    assert [scenario.name for scenario in library.scenarios] == ['good']
    (fault,) = library.faults
    assert Path(fault.path) == tmp_path / 'bad.yaml'
    assert problem in fault.problem
    assert fault.line == line


def test_a_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / 'bad.yaml').write_bytes(b'\xff\xfe\x00')
    (fault,) = Library.load(tmp_path).faults
    assert 'cannot be read' in fault.problem


def test_yaml_creates_no_python_objects(tmp_path: Path) -> None:
    (tmp_path / 'bad.yaml').write_text('!!python/object/apply:os.getcwd []', 'utf-8')
    (fault,) = Library.load(tmp_path).faults
    assert fault.problem.startswith('not YAML')


def test_the_model_reports_the_faults(tmp_path: Path) -> None:
    (tmp_path / 'bad.yaml').write_text('a: b', 'utf-8')
    assert [Path(fault.path).name for fault in Scripted(pace=0, folder=tmp_path).faults] == ['bad.yaml']


async def play(scenario: Scenario) -> tuple[Outcome, list[Transition]]:
    """Run a scenario's sample with simulated waits."""
    catalog = Catalog.load()
    catalog.models['scripted'] = Scripted(pace=0)
    async with LocalConductor(MemoryJournal(), catalog=catalog, clock=IdleClock()) as conductor:
        parameters = {**scenario.parameters, scenario.field: scenario.task}
        run = (await conductor.start(scenario.pattern, parameters)).id
        return await to_the_end(conductor, run), await conductor.transitions(run)


def find_name(library: Library, task: str) -> str:
    scenario = library.find('pipeline', task)
    return scenario.name if scenario else ''


CASES = """
cases:
  - {when: '(?P<good>\\d+) passed in', text: 'All <<good>> pass.'}
  - {when: 'failed', calls: [{tool: edit_file, arguments: {path: 'a.py', old: '<<x>>'}}]}
  - {text: 'I have seen no tests.'}
"""


def test_a_turn_depends_on_what_the_model_was_told():
    turn = Turn.model_validate(yaml.safe_load(CASES))
    assert turn.select_case('12 passed in 0.1 s').text == 'All 12 pass.'
    assert turn.select_case('2 failed').calls[0].arguments == {'path': 'a.py', 'old': '<<x>>'}
    assert turn.select_case('').text == 'I have seen no tests.'


@pytest.mark.parametrize(
    ('turn', 'problem'),
    [
        ({'cases': [{'text': 'a'}], 'text': 'b'}, 'cases must stand alone'),
        ({'cases': [{'text': 'a'}, {'text': 'b'}]}, 'every case but the last needs a when'),
        ({'cases': [{'when': 'x', 'text': 'a'}]}, 'every case but the last needs a when'),
        ({'when': '(', 'text': 'a'}, 'is not a regular expression'),
    ],
)
def test_ambiguous_cases_are_refused(turn, problem):
    with pytest.raises(ValidationError, match=problem):
        Turn.model_validate(turn)


def test_a_long_text_may_be_in_its_own_file(tmp_path):
    (tmp_path / 'code').mkdir()
    (tmp_path / 'code' / 'a.py').write_text('print("<&>")\n')
    good = GOOD.format(name='mine', match='[apples]')
    (tmp_path / 'mine.yaml').write_text(good.replace('about: It is good.', 'about: !file code/a.py'))
    library = Library.load(tmp_path)
    assert library.faults == ()
    assert library.scenarios[0].about == 'print("<&>")\n'
    (tmp_path / 'mine.yaml').write_text(good.replace('about: It is good.', 'about: !file ../x'))
    assert 'outside the folder' in Library.load(tmp_path).faults[0].problem

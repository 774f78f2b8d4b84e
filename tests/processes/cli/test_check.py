"""`hemicycle test check` as CI uses it: every file is replayed, and each problem names its file."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import Result

from tests.support.cli import Hemicycle

PATTERN = '''
from pydantic import BaseModel
from engine import Memory, Pattern, agent


class Small(Pattern):
    """Asks one agent."""

    class Parameters(BaseModel):
        task: str = 'add'

    class Memory(Memory):
        task: str = ''
        said: str = ''

    initial = 'working'
    answer = 'said'
    states = [agent('working', then='keep'), {'name': 'over', 'final': True}]
    transitions = [['done', 'working', 'over'], ['failed', 'working', 'over']]

    def prompt_working(self, memory):
        return memory.task

    def keep(self, memory, event):
        memory.said = event.data['text']
'''


class Checks:
    """A saved test of a small pattern, and the result after editing it."""

    def __init__(self, home: Path) -> None:
        self.home, self.hemicycle = home, Hemicycle(home)
        self.pattern = self.hemicycle.patterns / 'small.py'
        self.pattern.write_text(PATTERN)
        assert self.run('run', 'small', '--quiet').exit_code == 0
        self.tests = home / 'tests'
        self.tests.mkdir()
        self.good = self.tests / 'good.yaml'
        assert self.run('test', 'save', 'last', str(self.good)).exit_code == 0
        self.saved: dict[str, Any] = yaml.safe_load(self.good.read_text('utf-8'))

    def run(self, *arguments: str) -> Result:
        return self.hemicycle(*arguments, '--patterns', str(self.hemicycle.patterns))

    def check(self, *arguments: Any) -> Result:
        return self.run('test', 'check', *map(str, arguments))

    def other(self, name: str, change: Callable[[dict[str, Any]], Any] | str) -> Path:
        file = self.tests / f'{name}.yaml'
        if isinstance(change, str):
            file.write_text(change, 'utf-8')
        else:
            document = copy.deepcopy(self.saved)
            change(document)
            file.write_text(yaml.safe_dump(document), 'utf-8')
        return file


@pytest.fixture(scope='module')
def checks(tmp_path_factory: pytest.TempPathFactory) -> Checks:
    return Checks(tmp_path_factory.mktemp('checks'))


def expecting(**expected: Any) -> Callable[[dict[str, Any]], Any]:
    def change(document: dict[str, Any]) -> None:
        for spec in document['scorers']:
            if spec['name'] in expected:
                spec['settings'] |= expected[spec['name']]

    return change


@pytest.mark.parametrize(
    ('expected', 'message'),
    [
        ({'status': {'status': ['failed']}}, 'status at step 3: expected failed; actual: done'),
        ({'way': {'visited': ['lost']}}, 'visited: expected lost; actual: the pattern has no such state'),
        (
            {'way': {'visited': ['working.failed']}},
            'visited: expected working.failed; actual: it was never entered',
        ),
        ({'way': {'not_visited': ['over']}}, 'not_visited at step 3: expected over; actual: it was entered'),
        (
            {'way': {'not_visited': ['ovre']}},
            'not_visited: expected ovre; actual: the pattern has no such state',
        ),
        (
            {'way': {'visits': {'working': 0}}},
            'visits at step 1: expected working 0 times at most; actual: 1 times',
        ),
        (
            {'way': {'visits': {'worknig': 2}}},
            'visits: expected worknig; actual: the pattern has no such state',
        ),
        ({'way': {'tokens': 1}}, 'tokens: expected at most 1; actual: '),
        ({'way': {'seconds': 0}}, 'seconds: expected at most 0; actual: '),
        ({'answer': {'value': 'blue'}}, "answer at step 3: expected 'blue'; actual: '"),
    ],
)
def test_failed_expectations_show_the_actual_value(
    checks: Checks, expected: dict[str, Any], message: str
) -> None:
    file = checks.other('expecting', expecting(**expected))
    result = checks.check(file)
    assert result.exit_code == 1 and message in result.stdout, (result.stdout, result.stderr)
    assert result.stdout.startswith(f'{file} FAILED: 3 steps, as recorded')
    assert len(result.stdout.splitlines()) == 2


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document.pop(name)


def set_field(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document.update({name: value})


def recording(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda document: change(document['cases'][0]['recording'])


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ('', 'must have 1 byte'),
        ('- 1', 'must be a mapping'),
        ('a: [1,', 'is not YAML'),
        ('!!python/object/apply:os.getcwd []', 'is not YAML'),
        (without('base'), 'base: Field required'),
        (set_field('base', {'pattern': 'smal'}), "there is no pattern 'smal'"),
        (
            lambda document: document['cases'][0]['parameters'].update(task=7),
            '.task: Input should be a valid',
        ),
        (recording(lambda kept: kept.update(steps=[])), 'steps: it must begin with the step `start`'),
        (recording(lambda kept: kept['steps'].pop(0)), 'steps: it must begin with the step `start`'),
        (recording(lambda kept: kept['steps'].pop(1)), 'steps: step 2 is missing'),
        (set_field('base', {'pattern': 'small', 'tools': 'all'}), 'base.tools: Input should be a valid dict'),
        (
            set_field('base', {'pattern': 'small', 'replay': 'x'}),
            'base.replay: a recording fits one run only',
        ),
        (recording(lambda kept: kept.update(options={'replay': 'x'})), "a recording has no option 'replay'"),
        (set_field('recorded', False), 'recorded: must be true: a check calls no model'),
        (lambda document: document['cases'][0].pop('recording'), 'recording: is missing'),
        (without('cases'), 'dataset'),
        (set_field('scorers', []), 'scorers: '),
        (expecting(way={'colour': 'red'}), 'scorers.1.settings.colour'),
    ],
)
def test_an_invalid_test_file_is_refused_by_name_and_field(checks: Checks, change: Any, message: str) -> None:
    file = checks.other('malformed', change)
    result = checks.check(file)
    assert result.exit_code == 2 and not result.stdout, (result.stdout, result.exception)
    assert f'{file}: ' in result.stderr and message in result.stderr, result.stderr


def test_all_files_are_checked_even_if_one_is_broken(tmp_path: Path) -> None:
    checks, report = Checks(tmp_path), tmp_path / 'report.xml'
    nested = checks.tests / 'more'
    nested.mkdir()
    (nested / 'fine.yml').write_text(checks.good.read_text('utf-8'), 'utf-8')
    (checks.tests / 'README.md').write_text('# Tests')
    passed = checks.check(checks.tests)
    assert passed.exit_code == 0
    assert [line.split()[:2] for line in passed.stdout.splitlines()] == [
        [str(checks.good), 'passed:'],
        [str(nested / 'fine.yml'), 'passed:'],
    ]
    failing = checks.other('failing', expecting(answer={'value': 'blue'}))
    assert checks.check(checks.tests).exit_code == 1
    broken = checks.other('broken', 'a: [')
    missing = tmp_path / 'missing.yaml'
    result = checks.check(missing, checks.tests, '--junit', report)
    assert result.exit_code == 2
    assert f'{missing}: No such file' in result.stderr and f'{broken}: line 2: is not YAML' in result.stderr
    assert f'{failing} FAILED' in result.stdout and result.stdout.count(' passed: ') == 2
    suite = ET.parse(report).getroot()
    assert {name: suite.get(name) for name in ('tests', 'failures', 'errors')} == {
        'tests': '5', 'failures': '1', 'errors': '2',
    }  # fmt: skip
    cases = {case.get('name'): [child.tag for child in case] for case in suite}
    assert cases[str(broken)] == cases[str(missing)] == ['error'] and cases[str(failing)] == ['failure']
    lines = [json.loads(line) for line in checks.check(checks.tests, '--json').stdout.splitlines()]
    assert [(line['passed'], bool(line.get('problem'))) for line in lines] == [
        (False, True), (False, False), (True, False), (True, False),
    ]  # fmt: skip
    empty = tmp_path / 'empty'
    empty.mkdir()
    nothing = checks.check(empty)
    assert nothing.exit_code == 2 and f'{empty}: no tests found: it has no' in nothing.stderr


@pytest.mark.parametrize(
    ('was', 'now', 'code', 'message'),
    [
        (
            "'over', 'final': True",
            "'over', 'final': True, 'outcome': 'failed'",
            1,
            'status at step 3: expected done; actual: failed',
        ),
        (
            "transitions = [['done', 'working', 'over']",
            "states = [*states, {'name': 'aside', 'final': True}]\n    "
            "transitions = [['done', 'working', 'aside']",
            1,
            'visited: expected over; actual: it was never entered',
        ),
        ("'over'", "'ended'", 1, 'visited: expected over; actual: the pattern has no such state'),
        ("['done', 'working', 'over']", "['done', 'working', 'over', 'asks']", 1, 'status at step'),
        ("event.data['text']", "event.data['test']", 1, "raised KeyError: 'test'"),
        ("task: str = 'add'", 'task: int = 3', 2, 'parameters.task'),
        ('class Small(', 'class Large(', 2, "there is no pattern 'small'"),
        ("said: str = ''", 'said: str', 2, 'said'),
    ],
)
def test_a_changed_pattern_is_reported_by_its_difference(
    tmp_path: Path, was: str, now: str, code: int, message: str
) -> None:
    checks = Checks(tmp_path)
    changed = PATTERN.replace(was, now) + '\n    def asks(self, memory, event):\n        return False\n'
    assert was in PATTERN
    checks.pattern.write_text(changed)
    result = checks.check(checks.good)
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    assert message in result.stdout + result.stderr, (result.stdout, result.stderr)

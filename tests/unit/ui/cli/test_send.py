"""hemicycle send: what a run accepts, and answers from the terminal: approvals, custom events, seats."""

import pytest

from engine import InvalidInput, Status
from tests.support.cli import Hemicycle, json_lines
from ui.cli.inputs import parse_data

APPROVING = ('run', 'pipeline', '--task', 'Compare tea and coffee', '--approvals', 'all', '--quiet')


def test_an_event_of_the_pattern_ends_the_wait(hemicycle: Hemicycle) -> None:
    own = ('--patterns', str(hemicycle.patterns))
    hemicycle('run', 'asking', '--quiet', *own)
    listed = hemicycle('send', 'last', *own)
    assert (listed.exit_code, listed.stdout) == (0, 'said --at asking\n')

    result = hemicycle('send', 'last', 'said', '--at', 'asking', '--set', 'text=hello', *own)
    info = hemicycle.newest()
    assert result.exit_code == 0 and info.status is Status.DONE
    (step,) = (step for step in hemicycle.steps(info.id) if step.event.name == 'said')
    assert (step.event.at, step.event.data['text']) == ('asking', 'hello')
    assert hemicycle('send', 'last', 'said', *own).exit_code == 2, 'it has ended'
    assert 'it is done' in hemicycle('send', 'last', *own).stderr


def test_approvals_are_listed_approved_and_denied(hemicycle: Hemicycle) -> None:
    assert hemicycle(*APPROVING).exit_code == 4
    accepted = json_lines(hemicycle('send', 'last', '--json').stdout)
    assert {item['event']: item['takes'] for item in accepted} == {
        'approve': ['always', 'arguments'],
        'deny': ['reason'],
    }
    assert all(item['calls'] and item['calls'][0].startswith('notes ') for item in accepted)
    assert '    notes ' in hemicycle('send', 'last').stdout

    at = accepted[0]['at']
    assert hemicycle('send', 'last', 'deny', '--at', at, '--set', 'reason=not now', '-q').exit_code in (0, 4)
    info = hemicycle.newest()
    (denied,) = (step for step in hemicycle.steps(info.id) if step.event.name == 'deny')
    assert denied.event.data['reason'] == 'not now'


def test_each_agent_can_be_approved_for_the_whole_run(hemicycle: Hemicycle) -> None:
    hemicycle(*APPROVING)
    codes = []
    while not codes or codes[-1] == 4:
        result = hemicycle('send', 'last', 'approve', '--set', 'always=true', '--quiet')
        codes.append(result.exit_code)
    assert codes[-1] == 0 and result.stdout.strip()
    info = hemicycle.newest()
    answered = [step.left for step in hemicycle.steps(info.id) if step.event.name == 'approve']
    assert len(answered) == len(set(answered)) == len(codes), 'an agent asked again'


def test_unaccepted_events_are_refused(hemicycle: Hemicycle) -> None:
    hemicycle(*APPROVING)
    before = hemicycle.last_step()
    for arguments, problem in (
        (('said',), 'said'),
        (('approve', '--at', 'nowhere'), 'nowhere'),
        (('approve', '--set', 'always'), '--set: must be NAME=VALUE'),
    ):
        result = hemicycle('send', 'last', *arguments)
        assert result.exit_code == 2 and problem in result.stderr, arguments
    info = hemicycle.newest()
    assert info.status is Status.WAITING
    assert all(step.event.name == 'recover' for step in hemicycle.steps(info.id)[before:])


def test_values_are_text_unless_they_are_json() -> None:
    assert parse_data(['a=3', 'b=true', 'c=[1, "x"]', 'd="true"', 'e=[half', 'f=']) == {
        'a': '3',
        'b': True,
        'c': [1, 'x'],
        'd': 'true',
        'e': '[half',
        'f': '',
    }
    with pytest.raises(InvalidInput, match='once for each name'):
        parse_data(['a=1', 'a=2'])

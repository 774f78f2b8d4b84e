"""hemicycle inbox: questions are listed, shown, answered once, assigned and snoozed."""

import json
from typing import Any

import pytest

from engine import Status
from tests.support.cli import Hemicycle, invoke, json_lines

APPROVING = ('run', 'pipeline', '--task', 'Compare tea and coffee', '--approvals', 'all', '--quiet')


@pytest.fixture
def hemicycle(hemicycle: Hemicycle) -> Hemicycle:
    """A database with a run that waits for an approval."""
    assert hemicycle(*APPROVING).exit_code == 4
    return hemicycle


def questions(hemicycle: Hemicycle, *options: str) -> list[dict[str, Any]]:
    return json_lines(invoke(hemicycle, 'inbox', 'list', '--json', *options))


def test_an_open_question_is_listed_and_shown(hemicycle: Hemicycle) -> None:
    (question,) = questions(hemicycle)
    assert question['ask']['run'] == hemicycle.newest().id
    listed = hemicycle('inbox', 'list').stdout
    assert listed.startswith(question['ask']['id']) and 'answers: approve, deny' in listed
    assert question['ask']['text'] in listed
    result = hemicycle('inbox', 'show', question['ask']['run'][:5])
    assert result.exit_code == 0 and result.stdout.startswith(listed.partition('\n')[0])
    assert json.loads(hemicycle('inbox', 'show', '--json').stdout) == question
    assert questions(hemicycle, '--run', 'another') == []


def test_a_question_is_answered_once(hemicycle: Hemicycle) -> None:
    (question,) = questions(hemicycle)
    number, digest = question['ask']['id'], question['ask']['digest']
    stale = hemicycle('inbox', 'answer', number, 'approve', '--digest', 'another')
    assert stale.exit_code == 2 and 'has changed since it was shown' in stale.stderr
    done = hemicycle('inbox', 'answer', number, 'deny', '--set', 'reason=no', '--digest', digest, '-q')
    assert done.exit_code in (0, 4), done.stderr
    (denied,) = (step for step in hemicycle.steps(hemicycle.newest().id) if step.event.name == 'deny')
    assert denied.event.data['reason'] == 'no'
    result = hemicycle('inbox', 'answer', number, 'approve')
    assert result.exit_code == 2 and 'has ended the question (deny)' in result.stderr


def test_answers_by_prefix_end_the_run(hemicycle: Hemicycle) -> None:
    run, code = hemicycle.newest().id, 4
    while code == 4:
        result = hemicycle('inbox', 'answer', run[:6], 'approve', '--set', 'always=true', '--quiet')
        code = result.exit_code
    assert code == 0, result.stderr
    assert hemicycle.newest().status is Status.DONE
    assert hemicycle('inbox', 'list').stdout == 'no question is open\n'


def test_a_question_is_assigned_and_snoozed(hemicycle: Hemicycle) -> None:
    assert 'assigned to ada' in hemicycle('inbox', 'assign', 'last', 'ada').stdout
    assert len(questions(hemicycle, '--assignee', 'ada')) == 1 and not questions(
        hemicycle, '--assignee', 'bo'
    )
    assert 'assigned' not in hemicycle('inbox', 'assign', 'last', '--off').stdout
    assert 'snoozed until' in hemicycle('inbox', 'snooze', 'last', '--hours', '4').stdout
    assert hemicycle('inbox', 'list').stdout == 'no question is open\n1 more snoozed: --snoozed lists them\n'
    assert len(questions(hemicycle, '--snoozed')) == 1 and not questions(hemicycle)
    hemicycle('inbox', 'snooze', 'last', '--off')
    assert len(questions(hemicycle)) == 1
    assert '2099-01-01' in hemicycle('inbox', 'snooze', 'last', '--until', '2099-01-01T09:00').stdout


@pytest.mark.parametrize(
    ('arguments', 'problem'),
    [
        (('answer', 'last', 'dance'), "EVENT: must be one of approve, deny, not 'dance'"),
        (('answer', 'last', 'approve', '--set', 'always'), '--set: must be NAME=VALUE'),
        (('answer', 'nothing', 'approve'), "QUESTION: there is no open question 'nothing'; open: "),
        (('show', 'no.such.question'), "there is no question 'no.such.question'"),
        (('assign', 'last'), 'PERSON: name who is to answer, or give --off'),
        (('assign', 'last', 'x' * 201), 'must have at most 200 characters'),
        (('snooze', 'last', '--until', 'soon'), '--until: must be a time such as'),
    ],
)
def test_bad_input_is_refused(hemicycle: Hemicycle, arguments: tuple[str, ...], problem: str) -> None:
    result = hemicycle('inbox', *arguments)
    assert result.exit_code == 2 and problem in result.stderr

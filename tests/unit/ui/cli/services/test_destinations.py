"""hemicycle destination and its messages: who is notified, what was sent, and what is sent again."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cli import Hemicycle, invoke, json_lines
from tests.support.servers.http_server import Answer, local

Bodies = list[dict[str, Any]]


class Receiver:
    """A webhook that accepts what it gets, unless told otherwise."""

    def __init__(self) -> None:
        self.got: Bodies = []
        self.status = 204
        self.url = ''

    def __call__(self, method: str, path: str, body: dict[str, Any]) -> Answer:
        self.got.append(body)
        return self.status, {}, b''


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    with local(receiver) as server:
        receiver.url = f'{server.url}/hook'
        yield receiver


def test_a_destination_is_added_shown_changed_and_removed(hemicycle: Hemicycle) -> None:
    options = ('https://team.example/hook', '--event', 'run.failed', '--event', 'run.ended', '--tag', 'prod')
    (destination,) = json_lines(invoke(hemicycle, 'destination', 'add', 'team', *options, '--json'))
    assert destination['secret'].startswith('whsec_') and destination['events'] == ['run.failed', 'run.ended']
    (details,) = json_lines(invoke(hemicycle, 'destination', 'show', 'team', '--json'))
    assert details == {**destination, 'secret': ''}
    line = invoke(hemicycle, 'destination', 'list')
    assert line.startswith(f'{destination["id"]}  team: webhook https://team.example/hook')
    assert 'run.failed, run.ended' in line and 'tag prod' in line
    changed = invoke(
        hemicycle,
        'destination',
        'change',
        'team',
        '--paused',
        '--tag',
        '',
        '--person',
        'ada',
        '--name',
        'all',
    )
    assert 'all: ' in changed and 'paused' in changed and 'person ada' in changed and 'tag' not in changed
    assert 'paused' not in invoke(hemicycle, 'destination', 'change', destination['id'], '--no-paused')
    invoke(hemicycle, 'destination', 'remove', 'all')
    assert invoke(hemicycle, 'destination', 'list') == 'nobody is notified: there are no destinations\n'


def test_the_secret_is_printed_once(hemicycle: Hemicycle) -> None:
    added = invoke(hemicycle, 'destination', 'add', 'team', 'https://team.example/hook')
    assert 'secret, shown only now: whsec_' in added
    mail = invoke(hemicycle, 'destination', 'add', 'ada', 'ada@team.example', '--channel', 'email')
    assert 'email ada@team.example' in mail and 'secret' not in mail


def test_a_test_message_is_sent_listed_and_resent(hemicycle: Hemicycle, receiver: Receiver) -> None:
    invoke(hemicycle, 'destination', 'add', 'team', receiver.url)
    assert '  sent  ' in invoke(hemicycle, 'destination', 'test', 'team')
    (message,) = json_lines(invoke(hemicycle, 'destination', 'message', 'list', '--json'))
    assert (message['state'], message['event']) == ('sent', 'test') and len(receiver.got) == 1
    invoke(hemicycle, 'destination', 'message', 'resend', message['id'][:12])
    assert len(receiver.got) == 2
    assert 'sent' in invoke(hemicycle, 'destination', 'message', 'list', '--state', 'sent')
    assert invoke(hemicycle, 'destination', 'message', 'list', '--state', 'failed') == 'no messages match\n'


def test_a_refused_test_message_is_reported(hemicycle: Hemicycle, receiver: Receiver) -> None:
    receiver.status = 500
    invoke(hemicycle, 'destination', 'add', 'team', receiver.url)
    refused = hemicycle('destination', 'test', 'team')
    assert refused.exit_code == 1 and 'status 500' in refused.stdout


def test_an_assignee_is_notified(hemicycle: Hemicycle, receiver: Receiver) -> None:
    invoke(hemicycle, 'destination', 'add', 'ada', receiver.url, '--person', 'ada')
    hemicycle('run', 'pipeline', '--task', 'Tea or coffee?', '--approvals', 'all', '-q')
    invoke(hemicycle, 'inbox', 'assign', 'last', 'ada')
    assert [item['type'] for item in receiver.got] == ['question.assigned']

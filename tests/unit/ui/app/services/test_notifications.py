"""Notifications: signed, in order per run, retried until accepted, none lost or duplicated."""

import asyncio
import json
from email import message_from_bytes
from email.message import Message as Mail
from typing import Any

import httpx
import pytest
from aiosmtpd.controller import Controller
from standardwebhooks import Webhook, WebhookVerificationError

from engine import Budget, Conductor, InvalidInput, LocalConductor, SimulatedClock
from engine.errors import JournalDamaged
from engine.host.clock import settle
from engine.journal import Journal, MemoryJournal
from engine.records import RunId, Transition
from engine.runtime import acting_as
from tests.bench.servers.processes import free_port
from tests.support.harness import (
    FakeModel,
    HastyClock,
    Lone,
    catalog,
    complete_run,
    pipeline_reply,
    start_run,
)
from tests.unit.ui.app.services.test_inbox import Pair, reply, wait_for_questions
from ui.app.services.inbox import Inbox
from ui.app.services.notifications import Channels, Destination, MailServer, Notifications, UnknownDestination

URL = 'https://team.example/hook'


class Receiver:
    """Receives webhooks in this process; `answers` chooses the responses, by default 204."""

    def __init__(self, answers: Any = lambda request: 204) -> None:
        self.requests: list[httpx.Request] = []
        self.accepted: list[dict[str, Any]] = []
        self._answers = answers

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers(request)
        if isinstance(answer, Exception):
            raise answer
        response = answer if isinstance(answer, httpx.Response) else httpx.Response(answer)
        if response.is_success:
            self.accepted.append(json.loads(request.content))
        return response

    def notifications(self, conductor: Conductor, **options: Any) -> Notifications:
        return Notifications(
            conductor, Channels(transport=httpx.MockTransport(self)), url='https://us.example', **options
        )


def conductor_of(journal: Journal | None = None, clock: Any = None) -> Conductor:
    return LocalConductor(
        journal or MemoryJournal(), catalog=catalog(FakeModel(reply), Pair, Lone), clock=clock or HastyClock()
    )


def hook(**fields: Any) -> Destination:
    return Destination(**({'name': 'Team', 'channel': 'webhook', 'address': URL} | fields))


async def send_all(notifications: Notifications) -> None:
    async with asyncio.timeout(60):
        await notifications.process_new_steps()
        await notifications._dispatcher.wait_until_idle()


async def test_a_webhook_is_signed_so_that_only_who_knows_the_secret_accepts_it():
    """Uses the real clock: the library refuses messages older than five minutes."""
    receiver = Receiver()
    async with LocalConductor(catalog=catalog(FakeModel(reply), Lone)) as conductor:
        notifications = receiver.notifications(conductor)
        team = await notifications.destinations.add(hook())
        run = await complete_run(conductor, 'lone', title='A run')
        await send_all(notifications)
    (request,) = receiver.requests
    payload = Webhook(team.secret).verify(request.content, dict(request.headers))
    data = payload['data']
    assert (payload['type'], data['run'], data['title']) == ('run.ended', run, 'A run')
    assert data['url'] == f'https://us.example/runs/{run}?at={data["step"]}'
    for secret, content in (('whsec_' + 'QUFB' * 8, request.content), (team.secret, request.content + b' ')):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(content, dict(request.headers))


async def test_a_question_is_notified_with_a_link(conductor: Conductor):
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(hook())
    run = await start_run(conductor, 'pair', approvals='all')
    inbox = Inbox(conductor)
    items = await wait_for_questions(inbox, 2)
    await send_all(notifications)
    payloads = {payload['data']['question']: payload for payload in receiver.accepted}
    assert set(payloads) == {item.ask.id for item in items}
    first = payloads[items[0].ask.id]
    assert first['type'] == 'run.waiting' and first['data']['text'] == 'Allow left to use calculator?'
    assert first['data']['digest'] == items[0].ask.digest
    assert first['data']['url'] == f'https://us.example/inbox/{items[0].ask.id}'
    await conductor.cancel(run)
    await send_all(notifications)
    assert receiver.accepted[-1]['data']['status'] == 'cancelled'
    assert len(receiver.accepted) == 3


async def test_failures_and_budgets_are_notified():
    receiver = Receiver()
    model = FakeModel(lambda request: ValueError('broken'))
    async with LocalConductor(catalog=catalog(model, Lone), clock=HastyClock()) as conductor:
        notifications = receiver.notifications(conductor)
        await notifications.destinations.add(hook(events=('run.failed',)))
        await complete_run(conductor, 'lone')
        await send_all(notifications)
    assert [payload['type'] for payload in receiver.accepted] == ['run.failed']
    assert 'broken' in receiver.accepted[0]['data']['error']
    receiver = Receiver()
    async with conductor_of() as conductor:
        notifications = receiver.notifications(conductor)
        await notifications.destinations.add(hook(events=('run.budget_warned',)))
        await complete_run(conductor, 'pair', budget=Budget(tokens=35), approvals='none')
        await send_all(notifications)
    assert receiver.accepted and 'budget' in receiver.accepted[0]['data']['text']


async def test_an_incomplete_result_is_notified_as_such():
    receiver = Receiver()
    async with LocalConductor(catalog=catalog(FakeModel(pipeline_reply)), clock=HastyClock()) as conductor:
        notifications = receiver.notifications(conductor)
        await notifications.destinations.add(hook())
        await complete_run(conductor, 'pipeline', {'task': 'Tea?', 'max_iterations': 0})
        await send_all(notifications)
    payload = receiver.accepted[-1]
    assert payload['type'] == 'run.ended'
    assert payload['data']['text'] == 'Done with issues: not approved after 0 revisions'


@pytest.mark.parametrize(
    ('fields', 'notifies'),
    [({}, True), ({'pattern': 'lone'}, True), ({'pattern': 'pair'}, False), ({'tag': 'nightly'}, True),
     ({'tag': 'other'}, False), ({'events': ('run.failed',)}, False), ({'paused': True}, False),
     ({'person': 'Ada'}, True)],
)  # fmt: skip
async def test_a_destination_gets_its_chosen_events(
    conductor: Conductor, fields: dict[str, Any], notifies: bool
):
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(hook(**fields))
    await complete_run(conductor, 'lone', tags=('nightly',))
    await send_all(notifications)
    assert bool(receiver.accepted) is notifies


async def test_people_are_notified_of_assignments(conductor: Conductor):
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(hook(person='Ada'))
    await start_run(conductor, 'pair', approvals='all')
    inbox = Inbox(conductor, notify=notifications.notify_assignee)
    items = await wait_for_questions(inbox, 2)
    await send_all(notifications)
    assert receiver.accepted == []
    for person in ('Bo', 'Ada'):
        with acting_as('Cy'):
            await inbox.assign(items[0].ask.id, person)
    await notifications._dispatcher.wait_until_idle()
    (payload,) = receiver.accepted
    assert (payload['type'], payload['data']['assignee'], payload['data']['by']) == (
        'question.assigned',
        'Ada',
        'Cy',
    )


async def test_earlier_events_are_not_sent_to_a_new_destination(conductor: Conductor):
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    run = await complete_run(conductor, 'lone', title='A run')
    await notifications.destinations.add(hook())
    await send_all(notifications)
    fork = await conductor.fork(run, 1)
    await conductor.result(fork)
    await send_all(notifications)
    assert [payload['data']['run'] for payload in receiver.accepted] == [fork]


async def test_a_damaged_run_does_not_hold_up_the_others(conductor: Conductor, caplog: Any):
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(hook())
    damaged, intact = [await complete_run(conductor, 'lone') for _ in range(2)]
    journal, read = conductor.journal, conductor.journal.transitions

    async def transitions(run: RunId, **limits: Any) -> list[Transition]:
        if run == damaged:
            raise JournalDamaged('step 1 is missing')
        return await read(run, **limits)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(journal, 'transitions', transitions)
        await send_all(notifications)
        await notifications.process_new_steps()
    assert [payload['data']['run'] for payload in receiver.accepted] == [intact]
    assert caplog.text.count(f'no notifications of run {damaged}: step 1 is missing') == 1


async def test_attempts_are_repeated_on_schedule_and_then_abandoned():
    clock = SimulatedClock()
    receiver = Receiver(lambda request: httpx.Response(503))
    async with conductor_of(clock=clock) as conductor:
        notifications = receiver.notifications(conductor, delays=(5.0, 300.0))
        team = await notifications.destinations.add(hook())
        message = await notifications.test(team.id)
        await settle()
        for passed, count in ((4.9, 1), (0.2, 2), (299.0, 2), (1.1, 3), (10_000.0, 3)):
            await clock.advance(passed)
            assert len(receiver.requests) == count
        (logged,) = await notifications.log()
        assert (logged.state, [attempt.status for attempt in logged.attempts]) == ('failed', [503, 503, 503])
        assert len({request.headers['webhook-id'] for request in receiver.requests}) == 1
        receiver._answers = lambda request: 200
        await notifications.resend(message.id)
        await settle()
        (logged,) = await notifications.log(state='sent')
        assert logged.id == message.id and len(receiver.requests) == 4


async def test_a_message_is_resent_at_once_on_request():
    clock, answers = SimulatedClock(), [500, 200]
    receiver = Receiver(lambda request: answers.pop(0))
    async with conductor_of(clock=clock) as conductor:
        notifications = receiver.notifications(conductor)
        message = await notifications.test((await notifications.destinations.add(hook())).id)
        await settle()
        assert len(receiver.requests) == 1
        await notifications.resend(message.id)
        await settle()
        assert (await notifications.log())[0].state == 'sent'


async def test_a_receiver_that_answers_410_is_disabled():
    receiver = Receiver(lambda request: 410)
    async with conductor_of() as conductor:
        notifications = receiver.notifications(conductor)
        team = await notifications.destinations.add(hook())
        await complete_run(conductor, 'lone', title='A run')
        await send_all(notifications)
        await complete_run(conductor, 'lone', title='A run')
        await send_all(notifications)
        assert len(receiver.requests) == 1
        stored = await notifications.destinations.get(team.id)
        assert stored.paused and '410' in stored.problem
        assert (await notifications.destinations.change(team.id, paused=False)).problem == ''


async def test_retry_after_is_respected():
    clock, answers = SimulatedClock(), [httpx.Response(429, headers={'Retry-After': '60'}), 200]
    receiver = Receiver(lambda request: answers.pop(0))
    async with conductor_of(clock=clock) as conductor:
        notifications = receiver.notifications(conductor)
        await notifications.test((await notifications.destinations.add(hook())).id)
        await settle()
        await clock.advance(59.0)
        assert len(receiver.requests) == 1
        await clock.advance(2.0)
        assert len(receiver.requests) == 2


@pytest.mark.parametrize(
    ('fields', 'named'),
    [({'address': 'ftp://x'}, 'address'), ({'address': 'https://'}, 'address'), ({'name': ' '}, 'name'),
     ({'channel': 'email', 'address': 'ada'}, 'address'), ({'events': ()}, 'events'),
     ({'events': ('run.started',)}, 'events'), ({'secret': 'whsec_'}, 'secret'),
     ({'channel': 'email', 'address': 'a@b.c\nBcc: d@e.f'}, 'address')],
)  # fmt: skip
async def test_an_invalid_destination_is_refused(conductor: Conductor, fields: dict[str, Any], named: str):
    with pytest.raises(InvalidInput) as refused:
        await Receiver().notifications(conductor).destinations.add(hook(**fields))
    assert list(refused.value.problems) == [named]


async def test_a_destination_is_removed_with_its_unsent_messages():
    clock = SimulatedClock()
    receiver = Receiver(lambda request: 500)
    async with conductor_of(clock=clock) as conductor:
        notifications = receiver.notifications(conductor)
        team = await notifications.destinations.add(hook())
        await notifications.test(team.id)
        await settle()
        await notifications.destinations.remove(team.id)
        await clock.advance(6.0)
        assert len(receiver.requests) == 1 and await notifications.log() == []
        with pytest.raises(UnknownDestination):
            await notifications.destinations.get(team.id)


async def test_text_is_escaped_for_slack(conductor: Conductor):
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    await notifications.destinations.add(hook(channel='slack'))
    await complete_run(conductor, 'lone', title='<!channel> | <https://bad|x>\n& more')
    await send_all(notifications)
    text = receiver.accepted[0]['text']
    assert '<!channel>' not in text and '&lt;!channel&gt;' in text and text.count('|') == 1


class Mailbox:
    """An SMTP handler that rejects the first mail and keeps the others."""

    def __init__(self) -> None:
        self.mails: list[Mail] = []
        self.tries = 0

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.tries += 1
        if self.tries == 1:
            return '451 later'
        self.mails.append(message_from_bytes(envelope.content))
        return '250 OK'


async def test_mail_reaches_a_real_server(conductor: Conductor):
    inbound = Mailbox()
    controller = Controller(inbound, hostname='127.0.0.1', port=free_port())
    controller.start()
    try:
        mail = MailServer.of_environment({'HEMICYCLE_SMTP': f'smtp://127.0.0.1:{controller.port}'})
        notifications = Notifications(conductor, Channels(mail), url='https://us.example')
        await notifications.destinations.add(hook(channel='email', address='ada@team.example'))
        title = 'Grüße\r\nBcc: eve@evil.example'
        run = await complete_run(conductor, 'lone', title=title)
        await send_all(notifications)
    finally:
        controller.stop()
    (got,) = inbound.mails
    assert got['To'] == 'ada@team.example' and got['Bcc'] is None
    body = got.get_payload(decode=True).decode()
    assert f'https://us.example/runs/{run}' in body
    (logged,) = await notifications.log()
    assert [attempt.status for attempt in logged.attempts] == [451, 250]


@pytest.mark.parametrize('text', ['localhost:25', 'http://host', 'smtp://', 'smtp://host:port'])
def test_an_invalid_mail_server_is_refused(text: str):
    with pytest.raises(InvalidInput, match='HEMICYCLE_SMTP'):
        MailServer.of_environment({'HEMICYCLE_SMTP': text})

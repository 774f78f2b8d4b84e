"""Notifications about a private run go only to its author and to assignees."""

from engine import Conductor
from engine.runtime import acting_as
from tests.support.harness import start_run
from tests.unit.ui.app.services.test_inbox import wait_for_questions
from tests.unit.ui.app.services.test_notifications import Receiver, hook, send_all
from ui.app.services.inbox import Inbox


async def test_private_runs_are_private_in_notifications_too(conductor: Conductor) -> None:
    receiver = Receiver()
    notifications = receiver.notifications(conductor)
    for name, person in (('channel', ''), ('of-Ada', 'ada'), ('of-Bo', 'bo')):
        await notifications.destinations.add(
            hook(name=name, person=person, address=f'https://team.example/{name}')
        )

    def group_types() -> dict[str, list[str]]:
        events: dict[str, list[str]] = {}
        for request, body in zip(receiver.requests, receiver.accepted, strict=True):
            events.setdefault(request.url.path, []).append(body['type'])
        return events

    with acting_as('ada'):
        run = await start_run(conductor, 'pair', approvals='all', private=True)
    inbox = Inbox(conductor, notify=notifications.notify_assignee)
    (item, _) = await wait_for_questions(inbox, 2)
    await send_all(notifications)
    assert group_types() == {'/of-Ada': ['run.waiting', 'run.waiting']}
    await inbox.assign(item.ask.id, 'bo')
    await notifications._dispatcher.wait_until_idle()
    assert group_types()['/of-Bo'] == ['question.assigned']
    await conductor.cancel(run)
    await send_all(notifications)
    assert group_types() == {
        '/of-Ada': ['run.waiting', 'run.waiting', 'run.ended'],
        '/of-Bo': ['question.assigned'],
    }

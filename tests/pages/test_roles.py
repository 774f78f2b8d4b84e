"""Every page for an administrator and for a viewer: none fails or tries what is not permitted."""

import pytest
from nicegui import ui
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from engine import Conductor
from engine.errors import NotAllowed
from engine.operations import Role
from tests.pages.app.test_runs import keep
from tests.pages.test_variants import IN_GROUP
from tests.support.harness import complete_run, turns
from ui.web.pages.shared.launching.models import Models
from ui.web.permission import ROLES

TASK = {'task': 'Compare tea and coffee'}
FOR_ADMINISTRATORS = ('/accounts', '/audit')
EVERYWHERE = (
    *('/', '/runs', '/trash', '/wall', '/inbox', '/inbox/{ask}', '/notifications', '/schedules'),
    *('/tools', '/tools/calculator', '/settings', '/workers', '/account', *FOR_ADMINISTRATORS),
    *('/launch/pipeline', '/launch/supervisor', '/launch/race', '/launch/pipeline?again={done}'),
    *('/patterns/pipeline/traffic', '/compare?a={done}&b={waits}', '/variants/variants-abc'),
    *(f'/runs/{run}{end}' for run in ('{done}', '{waits}') for end in ('', '?at=2', '/fork?at=2', '/report')),
    *('/runs/{done}/review', '/runs/{done}/family', '/runs/{done}/files', '/nowhere', '/runs/nowhere'),
)
MISSING = ('/nowhere', '/runs/nowhere')


@pytest.fixture
def with_run_page() -> bool:
    return True


@pytest.fixture
async def runs(conductor: Conductor) -> dict[str, str]:
    """The ids of a run that is done and of one that waits for a person; a variant is stored, too."""
    done = await complete_run(conductor, 'pipeline', TASK)
    waits = (await conductor.start('pipeline', TASK, approvals='all')).id
    async for _ in turns():
        if (await conductor.info(waits)).waiting:
            break
    await keep(conductor, 1, seq=0, **IN_GROUP)  # its steps, which are read for statistics, are not stored
    return {'done': done, 'waits': waits}


@pytest.fixture
def refused(monkeypatch) -> list[str]:
    """All refusals, including those that are caught."""
    messages: list[str] = []

    def note(error: NotAllowed, *text: object) -> None:
        messages.append(str(text))
        Exception.__init__(error, *text)

    monkeypatch.setattr(NotAllowed, '__init__', note)
    return messages


@pytest.mark.parametrize('role', [Role.ADMIN, Role.VIEWER])
async def test_every_page_opens_for_everybody(pages, backend, runs, refused, role, subtests):
    (item,) = (await backend.root_services.inbox.list()).items
    for path in EVERYWHERE:
        with subtests.test(path):
            refused.clear()
            answer = await pages.http_client.get(path.format(**runs, ask=item.ask.id))
            assert answer.status_code == (404 if path in MISSING else 200)
            assert 'could not be displayed' not in answer.text
            assert bool(refused) == (path in FOR_ADMINISTRATORS and role is not Role.ADMIN), refused


def disabled_actions(pages: User) -> set[str]:
    """Return the actions of the controls that are disabled on the page."""
    actions = {element.props.get('data-refused') for element in pages.client.elements.values()}
    return {str(action) for action in actions if action}


@pytest.mark.parametrize('role', [Role.VIEWER])
async def test_a_viewer_sees_why_a_button_is_disabled(pages, runs, role):
    await pages.open(f'/runs/{runs["waits"]}')
    assert {'cancel', 'fork', 'retry', 'annotate', 'write_note'} <= disabled_actions(pages)
    (cancel, *_) = [
        element for element in pages.client.elements.values() if element.props.get('data-refused') == 'cancel'
    ]
    assert cancel.props['title'] == 'Requires the role operator; yours is viewer'
    assert 'disabled' in cancel.props


@pytest.mark.parametrize('role', [Role.VIEWER])
async def test_a_viewer_is_not_asked(pages, runs, role):
    await pages.open(f'/runs/{runs["waits"]}')
    await pages.should_see('Waiting')
    await pages.should_not_see('Allow once')


@pytest.mark.parametrize('role', [Role.OPERATOR])
async def test_an_operator_may_steer_but_not_configure(pages, runs, role):
    await pages.open(f'/runs/{runs["waits"]}')
    assert disabled_actions(pages) == set()
    await pages.open('/settings')
    assert (
        {'endpoints.save', 'mcp_servers.save', 'clean_up'}
        <= disabled_actions(pages)
        <= {n for n, r in ROLES.items() if r is Role.ADMIN}
    )
    await pages.open('/notifications')
    await pages.should_see('Requires the role admin')


@pytest.mark.parametrize(
    ('role', 'offered'),
    [
        (Role.VIEWER, ['Compare']),
        (Role.OPERATOR, ['Compare', 'Tag', 'Star', 'Pin', 'Add to dataset', 'Delete']),
    ],
)
async def test_selected_runs_offer_the_permitted_actions(pages, runs, role, offered):
    await pages.open('/runs')
    boxes = [element for element in pages.client.elements.values() if 'run-tick' in element.classes]
    for box in boxes[:2]:
        UserInteraction(pages, {box}, None).trigger('click', [True, False])
    await pages.should_see('2 runs selected')
    (bar,) = [element for element in pages.client.elements.values() if 'bulk' in element.classes]
    texts = [element.text for element in bar.descendants() if isinstance(element, ui.label)]
    assert texts == [*offered, 'Select all', 'Clear']


async def test_nothing_is_disabled_for_an_administrator(pages, runs):
    for path in ('/', '/settings', f'/runs/{runs["waits"]}', '/schedules', '/notifications'):
        await pages.open(path)
        assert disabled_actions(pages) == set(), path


@pytest.mark.parametrize('role', [Role.VIEWER])
async def test_a_viewers_page_does_not_query_endpoints(pages, backend, refused, role):
    await pages.open('/settings')
    with pages:
        await Models(backend().catalog.registry, on_change=lambda: None).load()
    assert refused == []

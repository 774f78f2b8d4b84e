"""The guard: what each role may do, what a private run reveals, and that no method is missed."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest

from engine import Catalog, Conductor, LocalConductor, SimulatedClock
from engine.errors import NotAllowed, SignedOut, UnknownRun
from engine.journal import MemoryJournal
from engine.operations import Role, operations_of, parts_of
from engine.records import Launch, RunId, RunInfo, RunQuery
from tests.support.harness import FakeModel, Lone, catalog, pipeline_reply
from tests.support.identity import FixedIdentity
from ui.app.access.access import Access
from ui.app.access.audit_log import AuditQuery
from ui.app.access.caller import Caller
from ui.app.services.guard import guard_services
from ui.app.services.operations import DestinationOperations, ServiceOperations
from ui.app.services.services import Services

UNKNOWN_NAME = 'no such thing'


@pytest.fixture
async def conductor() -> Any:
    async with LocalConductor(catalog=catalog(FakeModel(pipeline_reply), Lone)) as conductor:
        yield conductor


@pytest.fixture
def access(conductor: Conductor) -> Access:
    return Access(conductor.journal.documents, conductor.clock)


def as_role(access: Access, conductor: Conductor, role: Role, name: str = 'ada') -> Conductor:
    return access.guard(conductor, FixedIdentity(Caller(name, role)))


def test_every_argument_that_names_a_run_is_checked() -> None:
    for protocol in (Conductor, *parts_of(Conductor).values()):
        for name, operation in operations_of(protocol).items():
            naming = {
                argument
                for argument, parameter in operation.signature.parameters.items()
                if plain(parameter.annotation) in NAMES_OF_RUNS and argument not in CHOSEN.get(name, ())
            }
            assert naming == set(operation.runs), name


def plain(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


NAMES_OF_RUNS = (RunId, RunId | None, RunInfo, Iterable[RunInfo], Sequence[RunId])
CHOSEN = {'start': ('run',)} | dict.fromkeys(('fork', 'fork_all', 'rerun', 'retry', 'send_back'), ('new',))
"""Arguments that name a run that does not exist yet."""


async def test_what_is_no_operation_is_not_there(access: Access, conductor: LocalConductor) -> None:
    guarded = as_role(access, conductor, Role.ADMIN)
    for part, protocol in (('', Conductor), *parts_of(Conductor).items()):
        target, behind = (getattr(each, part) if part else each for each in (conductor, guarded))
        declared = {*operations_of(protocol), *vars(protocol)}
        public = {name for name in {*vars(target), *dir(target)} if not name.startswith('_')}
        assert [name for name in public - declared if hasattr(behind, name)] == []
        assert [name for name in operations_of(protocol) if not callable(getattr(behind, name))] == []


@pytest.mark.parametrize('role', list(Role))
async def test_a_role_may_do_what_is_listed_and_no_more(
    access: Access, conductor: Conductor, role: Role
) -> None:
    identity = FixedIdentity(Caller('ada', role))
    behind = access.guard(conductor, identity)
    services = guard_services(Services(conductor), identity, access.audit.write)
    guarded: list[tuple[Any, type[Any]]] = [
        (behind, Conductor),
        *((getattr(behind, name), part) for name, part in parts_of(Conductor).items()),
        *((getattr(services, name), part) for name, part in parts_of(ServiceOperations).items()),
        (services.notifications.destinations, DestinationOperations),
    ]
    for target, protocol in guarded:
        for name, operation in operations_of(protocol).items():
            refused = await is_refused(getattr(target, name), operation.signature)
            assert refused is not role.includes(operation.role), f'{role} {protocol.__name__}.{name}'
        assert not hasattr(target, 'clean_up') or 'clean_up' in operations_of(protocol)


async def is_refused(method: Any, signature: inspect.Signature) -> bool:
    """Return whether the guard refuses a call with unknown names."""
    arguments = {
        name: [] if re.search('Sequence|Iterable', str(parameter.annotation)) else UNKNOWN_NAME
        for name, parameter in signature.parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    try:
        returned = method(**arguments)
        if inspect.isasyncgen(returned):
            await asyncio.wait_for(anext(returned), 1)
        elif inspect.isawaitable(returned):
            await asyncio.wait_for(returned, 1)
    except NotAllowed:
        return True
    except Exception:  # These are not its arguments, but it was called.
        pass
    return False


async def test_a_private_run_does_not_exist_for_others(access: Access, conductor: Conductor) -> None:
    ada, bob = as_role(access, conductor, Role.OPERATOR), as_role(access, conductor, Role.OPERATOR, 'bob')
    root = as_role(access, conductor, Role.ADMIN, 'root')
    run = (await ada.start('lone', private=True)).id
    assert (await ada.info(run)).author == 'ada'
    assert [info.id for info in (await bob.runs(RunQuery())).runs] == []
    assert [info.id async for info in bob.iter_runs()] == []
    assert [info.id for info in (await ada.runs(RunQuery())).runs] == [run]
    assert [info.id for info in (await root.runs()).runs] == [run]
    for name in (
        'info',
        'view',
        'shape',
        'transitions',
        'notes',
        'cancel',
        'pause',
        'rerun',
        'lineage',
        'family',
    ):
        with pytest.raises(UnknownRun):
            await getattr(bob, name)(run)
    with pytest.raises(UnknownRun):
        await bob.compare(run, run)
    for launch in ('lone', Launch(pattern='lone', replay=run)):
        with pytest.raises(UnknownRun):
            await bob.start(launch, replay=run)
    with pytest.raises(UnknownRun):
        await bob.workspaces.files(run, '0' * 64)
    with pytest.raises(UnknownRun):
        await anext(bob.watch(run))
    with pytest.raises(UnknownRun):
        await anext(bob.export_bundle([run]).__aiter__())
    await ada.annotate(run, private=False)
    assert (await bob.info(run)).id == run
    with pytest.raises(NotAllowed):
        await bob.annotate(run, private=True)


async def test_a_family_reveals_only_the_existence_of_a_private_run(
    access: Access, conductor: Conductor
) -> None:
    ada, bob = as_role(access, conductor, Role.OPERATOR), as_role(access, conductor, Role.OPERATOR, 'bob')
    root = (await ada.start('lone', title='Secret plans')).id
    mine = await bob.rerun(root, title='Mine')
    await ada.annotate(root, private=True)
    assert root not in await bob.family(mine)
    tree = await bob.lineage(mine)
    assert (tree.info.title, dict(tree.info.parameters)) == ('A private run', {})
    assert [node.info.title for node in tree.children] == ['Mine']


async def test_each_event_says_who_sent_it(access: Access, conductor: Conductor) -> None:
    ada, bob = as_role(access, conductor, Role.OPERATOR), as_role(access, conductor, Role.OPERATOR, 'bob')
    run = (await ada.start('lone', paused=True)).id
    await bob.resume(run)
    await conductor.result(run)
    callers = {
        (step.event.name, step.event.who) for step in await conductor.transitions(run) if step.event.who
    }
    assert callers == {('start', 'ada'), ('resume', 'bob')}
    lines = await access.audit.lines(AuditQuery())
    assert [(line.who, line.action, line.runs) for line in lines] == [
        ('bob', 'resume', (run,)),
        ('ada', 'start', (run,)),
    ]


async def test_refusals_are_logged(access: Access, conductor: Conductor) -> None:
    viewer = as_role(access, conductor, Role.VIEWER)
    with pytest.raises(NotAllowed, match='operator'):
        await viewer.start('lone')
    (line,) = await access.audit.lines(AuditQuery(refused=True))
    assert (line.who, line.action, line.refused) == ('ada', 'start', 'role')


async def test_configuration_changes_are_logged(access: Access, tmp_path: Path) -> None:
    (tmp_path / 'endpoints.toml').write_text('')
    loaded = Catalog.load(endpoints=tmp_path / 'endpoints.toml')
    async with LocalConductor(catalog=loaded) as conductor:
        ada = as_role(access, conductor, Role.ADMIN)
        await ada.preview_cleanup()  # The settings page calls this: it changes nothing.
        await ada.endpoints.save('lab', {'url': 'https://lab.example/v1', 'key': 'env:LAB'})
        await ada.endpoints.remove('lab')
    lines = await access.audit.lines(AuditQuery())
    assert [(line.who, line.action, line.details) for line in lines] == [
        ('ada', f'endpoints.{action}', {'name': 'lab'}) for action in ('remove', 'save')
    ]


async def test_an_ended_session_ends_everywhere() -> None:
    clock = SimulatedClock()
    journal = MemoryJournal()
    async with LocalConductor(
        journal, catalog=catalog(FakeModel(pipeline_reply), Lone), clock=clock
    ) as conductor:
        access = Access(journal.documents, clock)
        await access.accounts.add('ada', Role.OPERATOR)
        identity = await access.identify_session(
            await access.accounts.begin_session('ada', 'password', '', '')
        )
        behind = access.guard(conductor, identity)
        run = (await behind.start('lone', paused=True)).id
        watching = behind.watch(run)
        await anext(watching)
        await access.accounts.end_sessions('ada')
        with pytest.raises(SignedOut):
            await behind.runs()
        await conductor.cancel(run)
        with pytest.raises(SignedOut):
            await anext(watching)
        with suppress(SignedOut):
            await watching.aclose()


async def test_followers_stop_when_a_run_is_hidden_or_their_role_is_lost(
    access: Access, conductor: Conductor
) -> None:
    ada = as_role(access, conductor, Role.OPERATOR)
    cy = FixedIdentity(Caller('cy', Role.ADMIN))
    run = (await ada.start('lone', paused=True)).id
    bob, root = (
        as_role(access, conductor, Role.VIEWER, 'bob').watch(run),
        access.guard(conductor, cy).watch(run),
    )
    await anext(bob)
    await anext(root)
    await ada.annotate(run, private=True)
    cy.last_caller = Caller('cy', Role.VIEWER)
    await ada.resume(run)
    for watching in (bob, root):
        with pytest.raises(UnknownRun):
            await anext(watching)

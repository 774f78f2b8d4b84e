"""Records are declared once: a new field of one is found at every door."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
from pydantic import StrictBool, TypeAdapter

from engine import Budget, InvalidInput
from engine.journal import Store
from engine.journal.documents import MemoryDocuments
from engine.records import Label, Launch, RunId, RunInfo
from engine.records.launch import FIELDS, OPTIONS
from ui.api.routes.launch import NewRun
from ui.api.wire import changes_model, dump, given_fields, input_model
from ui.app.services.notifications import Destination, UnknownDestination
from ui.app.services.schedules import Schedule, Trigger
from ui.cli.execution.launch_options import OWN, launch_options
from ui.cli.execution.run import run
from ui.cli.record_options import record_options
from ui.web.components.forms.fields import fields
from ui.web.components.forms.record_form import form_model

OWN_CONTROLS = {
    'pattern', 'parameters', 'models', 'effort', 'budget', 'replay', 'paused', 'breakpoints',
    'instructions', 'tools', 'stubs', 'version', 'files',
}  # fmt: skip
"""Fields that the launch form shows in their own way, or not yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithPriority(Launch):
    urgent: Annotated[StrictBool, Label('Urgent')] = False
    """Before all others."""


def test_a_new_field_is_found_in_the_form_the_commands_and_the_api() -> None:
    field = fields(form_model(WithPriority, group='Options'))[-1]
    assert (field.title, field.kind, field.help, field.group) == (
        'Urgent', 'boolean', 'Before all others', 'Options',
    )  # fmt: skip
    option = launch_options(WithPriority, OWN)[-1]
    assert (option.path, option.parameter.name) == (('urgent',), 'urgent')
    body = input_model(WithPriority).model_json_schema()['properties']['urgent']
    assert (body['type'], body['default'], body['description']) == ('boolean', False, 'Before all others.')
    stored = TypeAdapter(WithPriority).validate_python({'pattern': 'lone', 'urgent': True})
    assert dump(stored)['urgent'] is True


def test_every_door_has_every_field() -> None:
    assert set(NewRun.model_fields) == FIELDS
    assert FIELDS - {field.name for field in fields(form_model(Launch))} == OWN_CONTROLS
    taken = {option.path[0] for option in launch_options(Launch, OWN)}
    assert taken == FIELDS - set(OWN)
    names = {option.parameter.name for option in launch_options(Launch, OWN)}
    assert names <= set(inspect.signature(run).parameters)
    assert Schedule.__annotations__['action'] == 'Launch | None'  # or an experiment
    assert Trigger.__annotations__['action'] == 'Launch'


def test_a_run_keeps_what_it_was_launched_with() -> None:
    launch = Launch.parse({
        'pattern': 'lone', 'title': 'A title', 'tags': ['a'], 'models': {'': 'scripted'}, 'seed': 7,
        'budget': {'tokens': 9}, 'private': True, 'record': True, 'effort': {'writer': 'low'},
        'tools': {'writer': ['read_file']}, 'breakpoints': [{'enter': 'working'}], 'paused': True,
        'approvals': 'all', 'instructions': {'writer': 'Be short.'}, 'stubs': {'writer': ['Done.']},
    })  # fmt: skip
    own = {name: getattr(launch, name) for name in FIELDS - OPTIONS}
    assert Launch.of(RunInfo(id='one', options=launch.options, **own)) == launch  # type: ignore[arg-type]
    assert Launch(pattern='lone').options == {}
    odd = RunInfo(id=RunId('one'), pattern='x' * 201, title='', options={'tools': 'all', 'record': True})
    assert Launch.of(odd) == Launch(pattern='x' * 201, record=True)
    assert launch.budget == Budget(tokens=9)


@pytest.mark.parametrize(
    ('values', 'field'),
    [
        ({'title': 'x' * 201}, 'title'),
        ({'tags': ['x', 'x' * 201]}, 'tags.1'),
        ({'private': 0}, 'private'),
        ({'seed': -1}, 'seed'),
        ({'approvals': 'some'}, 'approvals'),
        ({'effort': {'writer': 'much'}}, 'effort.writer'),
        ({'budget': {'tokens': 0}}, 'budget.tokens'),
        ({'breakpoints': [{'enter': 1}]}, 'breakpoints.0.enter'),
        ({'record': True, 'replay': 'one'}, 'record'),
        ({'colour': 'red'}, 'colour'),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(values: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Launch.parse({'pattern': 'lone', **values})
    assert list(refused.value.problems) == [field]


@dataclass(frozen=True, slots=True, kw_only=True)
class WithDigest(Destination):
    digest: Annotated[StrictBool, Label('Daily digest')] = False
    """All events of a day in one message."""


async def test_a_new_field_of_a_destination_is_found_at_every_door() -> None:
    field = fields(form_model(WithDigest, without=('events',)))[-1]
    assert (field.title, field.help) == ('Daily digest', 'All events of a day in one message')
    options = {option.name for option in record_options(WithDigest, arguments=('name', 'address'))}
    assert options == {
        'NAME', 'ADDRESS', 'channel', 'event', 'pattern', 'tag', 'person', 'secret', 'paused', 'digest',
    }  # fmt: skip
    new = input_model(WithDigest).model_validate({'name': 'a', 'address': 'b', 'digest': True})
    assert given_fields(WithDigest, new) == {'name': 'a', 'address': 'b', 'digest': True}
    assert given_fields(WithDigest, changes_model(WithDigest)(digest=False)) == {'digest': False}
    assert not {'id', 'problem', 'created'} & set(input_model(WithDigest).model_fields)
    store = Store(MemoryDocuments(lambda: ()), 'destination', WithDigest, UnknownDestination)
    await store.write([WithDigest(id='one', name='a', address='b', digest=True)])
    assert (await store.get('one')).digest

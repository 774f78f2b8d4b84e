"""The settings page in a simulated browser: without a sandbox, without endpoints, with faults."""

import tomllib

import pytest

from engine import Fault, Sandbox
from engine.wire.endpoints import File
from ui.app import UNSAFE, warn_of
from ui.presenters.words import size, took
from ui.settings import Places
from ui.setup.machine import EXAMPLE
from ui.theme import warn_everywhere

PROBLEM = 'Commands are off, for there is no bwrap here: install bubblewrap.'


@pytest.fixture(autouse=True)
def no_warning():
    yield
    warn_everywhere('')


async def test_an_unconfigured_server_says_what_there_is(pages):
    await pages.open('/settings')
    for text in ('scripted', 'No real model is configured', 'ANTHROPIC_API_KEY', 'keeps runs in memory only'):
        await pages.should_see(text)


async def test_without_a_sandbox_it_says_how_to_get_one(pages, conductor):
    conductor.sandbox = Sandbox(_problem=PROBLEM)
    await pages.open('/settings')
    await pages.should_see(PROBLEM)
    await pages.should_not_see('Commands run without a sandbox.')
    await warn_of(conductor)
    await pages.open('/runs')
    await pages.should_not_see(UNSAFE)


async def test_unsafe_commands_are_warned_of_on_every_page(pages, conductor):
    conductor.sandbox = Sandbox(unsafe=True, _problem=PROBLEM)
    await warn_of(conductor)
    for path in ('/', '/runs', '/tools', '/launch/pipeline', '/nowhere', '/settings'):
        assert UNSAFE in (await pages.http_client.get(path)).text, path
    await pages.open('/settings')
    await pages.should_see('what a model writes is run on this machine with all your rights')


async def test_what_is_allowed_unsafely_is_not_warned_of_where_there_is_a_sandbox(pages, conductor):
    conductor.sandbox = Sandbox(unsafe=True, _problem='')
    await warn_of(conductor)
    await pages.open('/settings')
    await pages.should_not_see(UNSAFE)
    await pages.should_see('On: it allows commands')


async def test_faults_are_named_here_too(pages, conductor):
    conductor.catalog.faults.append(Fault(path='endpoints.toml', line=0, problem='endpoints.a.url: bad'))
    await pages.open('/settings')
    await pages.should_see('endpoints.a.url: bad')


async def test_places_and_sizes_are_told(pages, door, tmp_path):
    database = tmp_path / 'runs.db'
    database.write_bytes(b'x' * 12_000)
    database.with_name('runs.db-wal').write_bytes(b'x' * 345)
    door.places = Places(home=tmp_path, database=database, endpoints=tmp_path / 'e.toml')
    await pages.open('/settings')
    await pages.should_see(str(database))
    await pages.should_see('12.3 kB', retries=20)
    await pages.should_see('It is not there yet.')


def test_the_example_is_sound():
    assert set(File.model_validate(tomllib.loads(EXAMPLE)).endpoints) == {'work', 'anthropic', 'lab'}


@pytest.mark.parametrize(
    ('number', 'words'),
    [
        (0, '0 B'),
        (999, '999 B'),
        (1_000, '1.0 kB'),
        (345_678, '346 kB'),
        (2_500_000, '2.5 MB'),
        (10**16, '10000 TB'),
    ],
)
def test_sizes_in_words(number, words):
    assert size(number) == words


def test_short_times_in_words():
    assert (took(0.0123), took(3.44)) == ('12 ms', '3.4 s')

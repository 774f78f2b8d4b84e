"""The settings page in a simulated browser: without a sandbox, without endpoints, with faults."""

import tomllib

import pytest

from engine.configuration import ConfigFile
from engine.models.endpoint import Endpoint
from engine.models.http.endpoint_settings import EndpointSettings, EndpointSource
from engine.models.registry import EndpointHealth, ModelRegistry
from engine.records import Fault
from engine.tools.acp import ExternalAgents
from engine.tools.acp.known_agents import ExternalAgent
from engine.workspace import Sandbox
from tests.support.pages.clicks import click, labelled, see
from ui.app.settings import ServerPaths
from ui.formatting.values import byte_size, short_duration
from ui.server.app import UNSANDBOXED, warn_if_unsandboxed
from ui.web.components.theme import set_warning
from ui.web.pages.run.agents.agent import plan_line
from ui.web.pages.settings.machine import EXAMPLE
from ui.web.pages.shared.launching.models import model_groups, model_problem

PROBLEM = 'Commands are off, since there is no bwrap here: install bubblewrap.'


@pytest.fixture(autouse=True)
def no_warning():
    yield
    set_warning('')


async def test_an_unconfigured_server_lists_its_options(pages):
    await pages.open('/settings')
    for text in ('scripted', 'No live model is configured', 'Connect a model', 'keeps runs in memory only'):
        await pages.should_see(text)


def configure_endpoint(conductor, **limits):
    """Let the configuration file have one endpoint."""
    endpoint = Endpoint(name='work', url='http://work.example/v1', **limits)
    source = EndpointSource(found='file', url=endpoint.url, key='')
    settings = EndpointSettings(endpoints={'work': endpoint}, sources={'work': source})
    conductor.catalog.registry = ModelRegistry({}, settings)


async def test_an_endpoint_shows_its_limits(pages, conductor):
    configure_endpoint(conductor, at_once=3, requests_per_minute=60, tokens_per_minute=90_000)
    await pages.open('/settings')
    await pages.should_see('3 calls at a time, 60 requests a minute, 90k tokens a minute')


async def test_the_last_test_of_an_endpoint_stays_on_its_card_and_on_the_home_page(
    pages, conductor, monkeypatch
):
    configure_endpoint(conductor)

    async def refuse(name, model):
        problem = 'work: Incorrect API key (HTTP 401)'
        return EndpointHealth(endpoint=name, url='http://work.example/v1', problem=problem, kind='auth')

    monkeypatch.setattr(conductor.catalog.registry, 'test', refuse)
    await conductor.endpoints.test('work')
    await pages.open('/settings')
    await pages.should_see('Failed')
    await pages.should_see('Incorrect API key (HTTP 401). Check that the key is complete')
    await pages.should_see('Tested just now.')
    await pages.open('/')
    await pages.should_see('work is unavailable. Incorrect API key (HTTP 401).')


async def test_a_test_ends_with_its_page(pages, conductor, monkeypatch, endless):
    configure_endpoint(conductor)
    monkeypatch.setattr(conductor.catalog.registry, 'test', endless)
    await pages.open('/settings')
    click(pages, 'Test all')
    await endless.ends_with(pages)


async def test_without_a_sandbox_the_page_says_how_to_install_one(pages, conductor):
    conductor.sandbox = Sandbox(_problem=PROBLEM)
    await pages.open('/settings')
    await pages.should_see(PROBLEM)
    await pages.should_not_see('Commands run without a sandbox.')
    await warn_if_unsandboxed(conductor)
    await pages.open('/runs')
    await pages.should_not_see(UNSANDBOXED)


async def test_every_page_warns_of_unsafe_commands(pages, conductor):
    conductor.sandbox = Sandbox(unsafe=True, _problem=PROBLEM)
    await warn_if_unsandboxed(conductor)
    for path in ('/', '/runs', '/tools', '/launch/pipeline', '/nowhere', '/settings'):
        assert UNSANDBOXED in (await pages.http_client.get(path)).text, path
    await pages.open('/settings')
    await pages.should_see('commands written by a model run on this machine with all your permissions')


async def test_no_warning_is_shown_when_there_is_a_sandbox(pages, conductor):
    conductor.sandbox = Sandbox(unsafe=True, _problem='')
    await warn_if_unsandboxed(conductor)
    await pages.open('/settings')
    await pages.should_not_see(UNSANDBOXED)
    await pages.should_see('On: allows commands')


async def test_faults_are_listed(pages, conductor):
    conductor.catalog.faults.append(Fault(path='endpoints.toml', line=0, problem='endpoints.a.url: bad'))
    await pages.open('/settings')
    await pages.should_see('endpoints.a.url: bad')


async def test_paths_and_sizes_are_shown(pages, backend, tmp_path):
    database = tmp_path / 'runs.db'
    database.write_bytes(b'x' * 12_000)
    database.with_name('runs.db-wal').write_bytes(b'x' * 345)
    backend.places = ServerPaths(home=tmp_path, database=database, endpoints=tmp_path / 'e.toml')
    await pages.open('/settings')
    await see(pages, str(database), '12.3 kB', 'The file does not exist yet.', retries=20)


def test_the_example_is_valid():
    assert set(ConfigFile.model_validate(tomllib.loads(EXAMPLE)).endpoints) == {'work', 'anthropic', 'lab'}


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
def test_sizes_are_formatted(number, words):
    assert byte_size(number) == words


def test_short_times_are_formatted():
    assert (short_duration(0.0123), short_duration(3.44)) == ('12 ms', '3.4 s')


def add_agents(conductor, **fields):
    """Add an installed agent and missing ones to the catalog."""
    mine = ExternalAgent(name='mine', title='Mine', command='sh', variables=('HOME',), **fields)
    conductor.catalog.agents = ExternalAgents({'mine': mine})
    conductor.catalog.registry.agents = conductor.catalog.agents
    return conductor.catalog.registry


async def test_settings_show_what_each_may_reach_and_how_to_install_the_others(pages, conductor, monkeypatch):
    monkeypatch.setenv('PATH', '/usr/bin:/bin')
    add_agents(conductor, sandboxed=False)
    await pages.open('/settings')
    for text in (
        'agent:mine',
        'It runs without a sandbox: it can read and change whatever you can. It sees the variables HOME.',
        'npm install -g @agentclientprotocol/claude-agent-acp',
    ):
        await pages.should_see(text)


async def test_the_last_test_of_an_agent_stays_on_its_card(pages, conductor):
    add_agents(conductor, args=('-c', 'echo no licence >&2; exit 3'), sandboxed=False)
    health = await conductor.agents.test('mine')
    assert health.problem == 'mine: it ended with status 3: no licence'
    await pages.open('/settings')
    await pages.should_see('It ended with status 3: no licence. Start it once in a terminal')
    await pages.should_see('Try in a race')


async def test_an_agent_is_tried_in_a_race(pages, conductor, monkeypatch):
    monkeypatch.setenv('PATH', '/usr/bin:/bin')
    add_agents(conductor)
    await pages.open('/settings')
    (race,) = labelled(pages, 'Try in a race: Mine')
    await pages.open(race.props['href'])
    await pages.should_see('Live: racer1, racer2, racer3, racer4 by agent:mine.')


async def test_a_launch_form_offers_installed_agents(conductor, monkeypatch):
    monkeypatch.setenv('PATH', '/usr/bin:/bin')
    registry = add_agents(conductor)
    offered = next(group for group in model_groups(registry, busy=False) if group['label'] == 'Coding agents')
    assert 'agent:mine' in offered['options'] and 'agent:claude' not in offered['options']
    assert model_problem(registry, 'agent:mine') == ''
    assert 'install it: npm install -g' in model_problem(registry, 'agent:claude')


def test_a_plan_is_one_line():
    entries = [
        {'content': 'Read', 'status': 'completed'},
        {'content': 'Write', 'status': 'in_progress'},
        {'content': 'Test', 'status': 'pending'},
    ]
    assert plan_line(entries) == 'Plan: 1 of 3 steps done, now Write'

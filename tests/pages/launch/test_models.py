"""Models per role in the launch form: choosing, live models, refusals, reuse."""

import pytest
from nicegui import ui

from engine.configuration import Configuration
from engine.models import ModelRegistry
from engine.models.endpoint import Endpoint
from engine.models.http.endpoint_settings import EndpointSource
from engine.tools.acp import ExternalAgents
from engine.tools.acp.known_agents import ExternalAgent
from tests.support.harness import FakeModel
from tests.support.pages.clicks import click
from ui.web.components.elements import Combobox
from ui.web.pages.shared.launching.models import SIMULATED, Models

ROLES = ('researcher', 'analyzer', 'reviewer')


@pytest.fixture
def registry():
    """A remote provider, a local server, and an endpoint without its key."""
    far = Endpoint(name='far', url='https://far.example/v1', key='a-key', models=('large', 'small'))
    endpoint = Endpoint(name='here', url='http://127.0.0.1:9/v1', models=('tiny',))
    lost = EndpointSource(found='file', url='https://lost.example/v1', key='env:LOST')
    return ModelRegistry(
        {'scripted': FakeModel()},
        Configuration(
            endpoints={'far': far, 'here': endpoint},
            missing={'lost': 'the environment variable LOST is not set'},
            sources={'lost': lost},
        ),
    )


@pytest.fixture
async def models(user, registry):
    instances = []

    @ui.page('/models')
    def page():
        instances.append(Models(registry, on_change=lambda: None))
        instances[0].set_roles(ROLES)

    await user.open('/models')
    return instances[0]


@pytest.mark.parametrize(
    ('raw', 'chosen', 'live', 'words'),
    [
        ({}, {}, False, SIMULATED),
        ({'': 'scripted'}, {'': 'scripted'}, False, SIMULATED),
        (
            {'': 'far/large'},
            {'': 'far/large'},
            True,
            'Live: researcher, analyzer, reviewer by far/large. Calls to far cost money.',
        ),
        (
            {'role:analyzer': 'here/tiny'},
            {'analyzer': 'here/tiny'},
            True,
            'Live: analyzer by here/tiny. Calls stay on this machine. Simulated: researcher, reviewer.',
        ),
        (
            {'': 'far/large', 'fallback': 'here/tiny', 'role:reviewer': 'far/small , far/large'},
            {'': 'far/large, here/tiny', 'reviewer': 'far/small, far/large'},
            True,
            'Live: researcher, analyzer by far/large, else here/tiny; reviewer by far/small, else far/large. '
            'Calls to far cost money.',
        ),
        (
            {'': 'ollama/x', 'role:reviewer': 'scripted'},
            {'': 'ollama/x', 'reviewer': 'scripted'},
            True,
            'Live: researcher, analyzer by ollama/x. Calls stay on this machine. Simulated: reviewer.',
        ),
    ],
)
async def test_chosen_models_are_shown_and_live_ones_marked(models, raw, chosen, live, words):
    models.fill(raw)
    assert (models.chosen, models.describe(), models.check()) == (chosen, (live, words), True)
    models.fill({})
    models.fill_from_run(chosen)
    assert models.chosen == {role: names for role, names in chosen.items() if names != 'scripted' or role}


@pytest.mark.parametrize(
    ('name', 'problem'),
    [
        ('nothing', 'Unknown model “nothing”. Available: scripted, far/…, here/…'),
        ('nowhere/large', 'Unknown model “nowhere/large”.'),
        ('far/', 'far cannot'),
        ('lost/large', 'lost cannot be used: the environment variable LOST is not set.'),
        ('far/large, nothing', 'Unknown model “nothing”.'),
    ],
)
async def test_unknown_models_are_refused_at_their_row(user, models, name, problem):
    models.fill({'role:analyzer': name})
    assert not models.check()
    with user:
        problems = [control.problem for control in models._controls.values()]
    assert [bool(text) for text in problems] == [False, False, False, True, False]
    if name == 'far/':
        assert problems[3] == 'Add the model: far/…'
    else:
        assert problems[3].startswith(problem)
    models.fill({})
    assert models.check()


async def test_model_rows_follow_the_roles_and_keep_their_values(models):
    models.fill({'role:analyzer': 'here/tiny', 'role:reviewer': 'far/small'})
    models.set_roles(['judge', 'analyzer', 'analyzer'])
    assert models.raw == {'': '', 'fallback': '', 'role:judge': '', 'role:analyzer': 'here/tiny'}


@pytest.fixture
def offered(conductor, registry):
    conductor.catalog.registry._clients.update(registry._clients)
    conductor.catalog.registry._listed.update(registry._listed)


async def test_a_run_is_started_with_the_models_and_options(pages, conductor, offered):
    await pages.open('/launch/pipeline')
    boxes = sorted(pages.find(Combobox).elements, key=lambda element: element.id)
    reviewer = max((box for box in boxes if box.props['label'] == 'Available models'), key=boxes.index)
    reviewer.set_value('here/tiny')
    boxes[-1].set_value('high')  # The reviewer's effort.
    await pages.should_see('Live: reviewer by here/tiny.')
    task = min(pages.find(ui.textarea).elements, key=lambda element: element.id)
    task.set_value('What is a tram?')
    click(pages, 'Run')
    await pages.should_see('Here is run', retries=50)
    (info,) = (await conductor.runs()).runs
    assert (info.models, info.simulated, info.options.get('effort')) == (
        {'reviewer': 'here/tiny'}, False, {'reviewer': 'high'},
    )  # fmt: skip


async def test_the_models_of_a_run_are_reused(pages, conductor, offered):
    models = {'': 'here/tiny', 'reviewer': 'scripted, here/tiny'}
    run = (await conductor.start('pipeline', {'task': 'What is a tram?'}, models=models, approvals='all')).id
    await conductor.cancel(run)
    await pages.open(f'/launch/pipeline?again={run}')
    await pages.should_see('Live: researcher, analyzer by here/tiny; reviewer by scripted, else here/tiny.')
    await pages.should_see('For every tool call')


async def test_an_agents_permissions_are_shown_before_the_start(models, registry):
    registry.agents = ExternalAgents({'mine': ExternalAgent(name='mine', command='sh', variables=('HOME',))})
    models.fill({'role:analyzer': 'agent:mine'})
    live, words = models.describe()
    assert live and words.startswith(
        'Live: analyzer by agent:mine. Calls to agent:mine cost money. agent:mine: '
    )
    for item in (
        'It runs in the sandbox and can change only files in its own folder.',
        'It sees the variables HOME.',
        'It has network access.',
        'It costs what its provider charges.',
    ):
        assert item in words

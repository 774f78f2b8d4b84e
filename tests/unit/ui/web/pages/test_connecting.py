"""Connecting a model: what is offered once it works, and which sample is run."""

import pytest

from engine import LocalConductor
from engine.configuration import load_configuration
from engine.models import EndpointHealth, ModelRegistry
from ui.web.pages.shared.connecting.form import form_model, problems_of, read_form
from ui.web.pages.shared.connecting.result import models_with_prices
from ui.web.pages.shared.launching.samples import last_sample, samples

CONFIGURATION = """
[endpoints.openai]
[endpoints.lab]
url = "http://127.0.0.1:9/v1"
[prices."openai/ours"]
input = 1.5
output = 6
"""


def test_models_are_offered_with_prices_and_the_tested_one_first(tmp_path):
    file = tmp_path / 'endpoints.toml'
    file.write_text(CONFIGURATION)
    registry = ModelRegistry({}, load_configuration(file, {'OPENAI_API_KEY': 'k'}))
    models = ('whose', 'ours', 'gpt-4o-mini')
    health = EndpointHealth(endpoint='openai', url='', models=models, called='gpt-4o-mini')
    assert models_with_prices(registry, health) == {
        'openai/gpt-4o-mini': 'gpt-4o-mini: $0.15 in, $0.60 out per million tokens',
        'openai/ours': 'ours: $1.50 in, $6.00 out per million tokens',
        'openai/whose': 'whose: price unknown',
    }
    local = EndpointHealth(endpoint='lab', url='', models=('tiny',))
    assert models_with_prices(registry, local) == {'lab/tiny': 'tiny'}


@pytest.mark.parametrize(
    ('provider', 'filled', 'missing'),
    [
        ('openai', {}, {'key'}),
        ('openai', {'key': 'k'}, set()),
        ('ollama', {}, set()),
        ('other', {}, {'name', 'url'}),
        ('other', {'name': 'lab', 'url': 'https://lab.example'}, set()),
    ],
)
def test_each_provider_asks_for_what_it_needs(provider, filled, missing):
    model = form_model(provider, place='Kept here')
    assert set(problems_of(provider, model(**filled), is_new=True)) == missing


def test_a_key_is_a_secret_and_where_it_is_kept_is_not():
    model = form_model('openai', place='Kept here')
    pasted = read_form('openai', model(key=' sk-1 '), '')
    assert (pasted.name, pasted.secret) == ('openai', 'sk-1') and 'sk-1' not in str(pasted.values)
    named = read_form('openai', model(key='env:OUR_KEY', name='work'), '')
    assert (named.name, named.secret) == ('work', '')
    assert named.values == {'provider': 'openai', 'url': '', 'models': [], 'key': 'env:OUR_KEY'}
    kept = read_form('openai', form_model('openai', place='', present={'key': 'env:OUR_KEY'})(), 'openai')
    assert 'key' not in kept.values and not kept.secret


async def test_the_sample_that_was_run_last_is_offered_again():
    async with LocalConductor() as conductor:
        patterns = conductor.catalog.patterns
        first = await last_sample(conductor, patterns)
        assert first and (first.pattern, first.was_run) == ('pipeline', False)
        sample = samples(patterns['blog'])[-1]
        await conductor.start('blog', sample.parameters, title=sample.title, tags=('sample',))
        last = await last_sample(conductor, patterns)
        assert last and (last.pattern, last.sample, last.was_run) == ('blog', sample, True)

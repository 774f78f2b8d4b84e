"""The dialog that connects a model, in a simulated browser: a server of this machine, and roles."""

import httpx
import pytest

from engine.models import ModelRegistry
from engine.operations import Role
from tests.support.pages.clicks import click, see


@pytest.fixture
def with_ollama(conductor):
    """Ollama answers on this machine, and no other server does."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.port != 11434:
            raise httpx.ConnectError('nobody is there')
        return httpx.Response(200, json={'data': [{'id': 'qwen3'}, {'id': 'gemma3'}]})

    catalog = conductor.catalog
    catalog.registry = ModelRegistry(catalog.models, transport=lambda endpoint: httpx.MockTransport(answer))


async def test_a_server_of_this_machine_is_found_and_used_without_a_key(pages, conductor, with_ollama):
    await pages.open('/')
    click(pages, 'Connect a model')
    await see(pages, 'Found: 2 models', 'Not found', retries=50)
    click(pages, 'Ollama')
    await see(
        pages, 'Answers', '2 models offered; none was called.', 'Calls stay on this machine.', retries=50
    )
    click(pages, 'Run a sample with it')
    await pages.should_see('Here is run', retries=50)
    (info,) = (await conductor.runs()).runs
    assert (info.models, info.tags) == ({'': 'ollama/gemma3'}, ('sample',))
    await conductor.cancel(info.id)


async def test_a_server_that_is_not_found_is_asked_for_its_address(pages, with_ollama):
    await pages.open('/')
    click(pages, 'Connect a model')
    await pages.should_see('Found: 2 models', retries=50)
    click(pages, 'LM Studio')
    await see(pages, 'Leave empty for http://127.0.0.1:1234/v1.', retries=50)


class TestAsAnOperator:
    @pytest.fixture
    def role(self) -> Role:
        return Role.OPERATOR

    async def test_only_administrators_connect_models(self, pages):
        for path in ('/', '/settings'):
            await pages.open(path)
            buttons = [
                element
                for element in pages.client.elements.values()
                if element.props.get('data-refused') == 'endpoints.save'
            ]
            assert buttons and all('disabled' in button.props for button in buttons), path

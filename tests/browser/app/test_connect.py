"""Connecting a model or an MCP server on the settings page: the file, the test, a change, a removal."""

import gzip
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.provider import KEY, provider

RUN = re.compile(r'/runs/\w+')


@pytest.fixture
def address(monkeypatch):
    """A provider that takes the place of OpenAI."""
    with provider() as url:
        monkeypatch.setenv('HEMICYCLE_OPENAI_URL', url)
        yield url


def open_dialog(page) -> Locator:
    page.get_by_role('button', name='Connect a model').click()
    return page.get_by_role('dialog', name='Connect a model')


def test_four_clicks_and_a_pasted_key_lead_to_a_finished_run(page, new_server, address, axe):
    new_server.start()
    page.goto(new_server.url)
    page.get_by_role('region', name='Models').get_by_role('button', name='Connect a model').click()
    dialog = page.get_by_role('dialog', name='Connect a model')
    axe(page)
    dialog.get_by_role('button', name='OpenAI', exact=True).click()
    expect(dialog.get_by_label('API key')).to_be_focused()
    page.keyboard.insert_text(KEY)
    sources = [page.content()]
    dialog.get_by_role('button', name='Connect', exact=True).click()
    expect(dialog.get_by_text('22 models offered; none was called.')).to_be_visible()
    axe(page)
    sources.append(page.content())
    dialog.get_by_role('button', name='Run a sample with it').click()
    page.wait_for_url(RUN)
    run = page.url.rpartition('/')[2].partition('?')[0]
    assert new_server.ask(f'/runs/{run}/result?wait=60')['status'] == 'done'
    expect(page.get_by_text('A live answer.').first).to_be_visible()

    page.goto(f'{new_server.url}/settings')
    expect(page.get_by_text('22 models offered; none was called. Tested')).to_be_visible()
    sources += [page.content(), page.request.get(f'{new_server.url}/settings').text()]
    sources += [json.dumps(new_server.ask(path)) for path in ('/endpoints', '/endpoints/openai')]
    bundle = page.request.get(f'{new_server.url}/api/v1/runs/{run}/export/bundle')
    sources.append(gzip.decompress(bundle.body()).decode())
    assert run in sources[-1]
    assert [source for source in sources if KEY in source] == []
    holding = [
        file for file in new_server.folder.rglob('*') if file.is_file() and KEY.encode() in file.read_bytes()
    ]
    assert [file.name for file in holding] == ['keys.json']
    assert holding[0].stat().st_mode & 0o777 == 0o600


def test_a_model_is_connected_changed_and_removed(page, new_server, address):
    new_server.start()
    page.goto(f'{new_server.url}/settings')
    expect(page.get_by_text('The file does not exist yet.')).to_be_visible()
    dialog = open_dialog(page)
    dialog.get_by_role('button', name='Other server').click()
    dialog.get_by_label('Address').fill(address)
    dialog.get_by_role('button', name='Connect', exact=True).click()
    expect(dialog.get_by_text('Enter a name.')).to_be_visible()
    dialog.get_by_label('Name').fill('lab')
    dialog.get_by_label('API key').fill('two words')
    dialog.get_by_role('button', name='Connect', exact=True).click()
    expect(dialog.get_by_text('Enter a key: up to 4,096 ASCII characters')).to_be_visible()
    expect(dialog.get_by_label('API key')).to_have_value('two words')
    assert not new_server.endpoints.exists()
    dialog.get_by_label('API key').fill('the-wrong-key')
    dialog.get_by_role('button', name='Connect', exact=True).click()
    expect(dialog.get_by_text('Check that the key is complete')).to_be_visible()
    expect(dialog).not_to_contain_text('the-wrong-key')
    dialog.get_by_label('API key').fill(KEY)
    dialog.get_by_role('button', name='Connect', exact=True).click()
    expect(dialog.get_by_text('22 models offered; none was called.')).to_be_visible()
    dialog.get_by_role('button', name='Done').click()
    expect(page.get_by_text('The file does not exist yet.')).to_have_count(0)
    assert new_server.endpoints.read_text() == f'[endpoints.lab]\nurl = "{address}"\nkey = "file:lab"\n'

    page.get_by_role('button', name='Edit lab').click()
    dialog = page.get_by_role('dialog', name='Edit lab')
    expect(dialog.get_by_label('Address')).to_have_value(address)
    dialog.get_by_text('Advanced').click()
    dialog.get_by_label('Models').fill('large, small')
    dialog.get_by_role('button', name='Save and test').click()
    expect(dialog.get_by_text('Answered by large. 2 models offered.')).to_be_visible()
    dialog.get_by_role('button', name='Done').click()
    assert 'models = ["large", "small"]' in new_server.endpoints.read_text()

    page.get_by_role('button', name='Edit lab').click()
    page.get_by_role('dialog', name='Edit lab').get_by_role('button', name='Remove').click()
    page.get_by_role('dialog', name='Remove lab?').get_by_role('button', name='Remove').click()
    expect(page.get_by_role('button', name='Edit lab')).to_have_count(0)
    assert KEY not in (new_server.folder / 'home' / 'keys.json').read_text()


@pytest.mark.long
def test_an_mcp_server_is_connected_changed_and_removed(page, new_server, axe):
    program = Path(__file__).parents[2] / 'support' / 'mcp' / 'server.py'
    configuration = '# Ours, since spring.\n[retention]\ndays = 90  # by law\n'
    new_server.endpoints.write_text(configuration)
    new_server.start()
    page.goto(f'{new_server.url}/settings')
    page.get_by_role('button', name='Connect an MCP server').click()
    dialog = page.get_by_role('dialog', name='Connect an MCP server')
    dialog.get_by_label('Name').fill('small')
    expect(dialog.get_by_label('Address')).to_be_hidden()
    dialog.get_by_label('Command').fill('"unclosed')
    axe(page)
    dialog.get_by_role('button', name='Save and test').click()
    expect(dialog.get_by_text('No closing quotation.')).to_be_visible()
    expect(dialog.get_by_label('Command')).to_be_focused()
    assert new_server.endpoints.read_text() == configuration
    dialog.get_by_role('button', name='Add', exact=True).click()
    expect(dialog.get_by_label('Name').last).to_be_focused()
    dialog.get_by_label('Value', exact=True).fill('quiet')
    dialog.get_by_label('Command').fill('')
    dialog.get_by_role('button', name='Save and test').click()
    expect(dialog.get_by_text('Enter a value.')).to_be_visible()
    expect(dialog.get_by_text('Enter a name for “quiet”.')).to_be_visible()
    dialog.get_by_label('Command').fill('no-such-program')
    dialog.get_by_role('button', name='Save and test').click()
    expect(dialog.get_by_label('Name').last).to_be_focused()
    page.keyboard.type('MODE')
    dialog.get_by_role('button', name='Save and test').click()
    expect(dialog.get_by_role('status')).to_contain_text("there is no program 'no-such-program'")
    dialog.get_by_label('Command').fill(f'{sys.executable} "{program}" stdio')
    dialog.get_by_role('button', name='Save and test').click()
    expect(page.get_by_text('small is available and offers')).to_be_visible()
    expect(dialog).to_be_hidden()
    written = new_server.endpoints.read_text()
    assert written.startswith(configuration)
    assert tomllib.loads(written)['mcp']['small'] == {
        'command': sys.executable,
        'args': [str(program), 'stdio'],
        'env': {'MODE': 'quiet'},
    }

    page.get_by_role('button', name='Edit small').click()
    dialog = page.get_by_role('dialog', name='Edit small')
    expect(dialog.get_by_label('Name').last).to_have_value('MODE')
    expect(dialog.get_by_label('Value', exact=True)).to_have_value('quiet')
    dialog.get_by_label('Tools').fill('add, remember')
    dialog.get_by_role('button', name='Save and test').click()
    expect(page.get_by_text('small is available and offers 2 tools.')).to_be_visible()
    page.goto(f'{new_server.url}/tools')
    expect(page.get_by_role('heading', name='small_add', exact=True)).to_be_visible()

    page.goto(f'{new_server.url}/settings')
    page.get_by_role('button', name='Edit small').click()
    page.get_by_role('dialog', name='Edit small').get_by_role('button', name='Remove', exact=True).click()
    page.get_by_role('dialog', name='Remove small?').get_by_role('button', name='Remove').click()
    expect(page.get_by_text('No MCP server is connected')).to_be_visible()
    assert new_server.endpoints.read_text().strip() == configuration.strip()

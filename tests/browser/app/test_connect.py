"""Connecting a model or an MCP server on the settings page: the file, the test, a change, a removal."""

import sys
import tomllib
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.provider import KEY, provider


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setenv('GOOD_KEY', KEY)
    with provider() as url:
        yield url


def test_a_model_is_connected_changed_and_removed(page, new_server, address, axe):
    configuration = '# Ours, since spring.\n[retention]\ndays = 90  # by law\n'
    new_server.endpoints.write_text(configuration)
    new_server.start()
    page.goto(f'{new_server.url}/settings')
    page.get_by_role('button', name='Connect a model').click()
    dialog = page.get_by_role('dialog', name='Connect a model')
    dialog.get_by_label('Provider').select_option('other')
    dialog.get_by_label('Name').fill('lab')
    dialog.get_by_label('Key').fill(KEY)
    dialog.get_by_label('Address').fill(address)
    axe(page)
    dialog.get_by_label('Name').fill('')
    dialog.get_by_role('button', name='Save and test').click()
    expect(dialog.get_by_text('Enter a value.')).to_be_visible()
    dialog.get_by_label('Name').fill('lab')
    dialog.get_by_role('button', name='Save and test').click()
    expect(dialog.get_by_text('not the key itself')).to_be_visible()
    expect(dialog.get_by_label('Key')).to_be_focused()
    expect(dialog.get_by_label('Address')).to_have_value(address)
    assert new_server.endpoints.read_text() == configuration
    dialog.get_by_label('Key').fill('env:GOOD_KEY')
    dialog.get_by_role('button', name='Save and test').click()
    expect(page.get_by_text('lab answers and offers 22 models.')).to_be_visible()
    expect(dialog).to_be_hidden()
    written = new_server.endpoints.read_text()
    assert written.startswith(configuration)
    assert f'[endpoints.lab]\nurl = "{address}"\nkey = "env:GOOD_KEY"' in written

    page.get_by_role('button', name='Edit lab').click()
    dialog = page.get_by_role('dialog', name='Edit lab')
    expect(dialog.get_by_label('Address')).to_have_value(address)
    dialog.get_by_label('Models').fill('large, small')
    dialog.get_by_role('button', name='Save and test').click()
    expect(page.get_by_text('lab answers and offers 2 models.')).to_be_visible()
    assert 'models = ["large", "small"]' in new_server.endpoints.read_text()

    page.get_by_role('button', name='Edit lab').click()
    page.get_by_role('dialog', name='Edit lab').get_by_role('button', name='Remove').click()
    page.get_by_role('dialog', name='Remove lab?').get_by_role('button', name='Remove').click()
    expect(page.get_by_role('button', name='Edit lab')).to_have_count(0)
    assert new_server.endpoints.read_text().strip() == configuration.strip()


@pytest.mark.long
def test_a_model_that_does_not_answer_is_connected_on_the_home_page(page, new_server, address):
    new_server.start()
    page.goto(new_server.url)
    models = page.get_by_role('region', name='Models')
    models.get_by_role('button', name='Connect a model').click()
    dialog = page.get_by_role('dialog', name='Connect a model')
    expect(dialog.get_by_label('Provider').get_by_role('option').first).to_have_text('OpenAI')
    dialog.get_by_label('Key').fill('env:NO_SUCH_KEY')
    dialog.get_by_role('button', name='Save and test').click()
    failed = 'Saved, but the test failed: the environment variable NO_SUCH_KEY is not set'
    expect(dialog.get_by_role('status')).to_contain_text(failed)
    expect(models).to_contain_text('openai is unavailable. The environment variable NO_SUCH_KEY is not set.')
    dialog.get_by_label('Key').fill('env:GOOD_KEY')
    dialog.get_by_label('Address').fill(address)
    dialog.get_by_role('button', name='Save and test').click()
    expect(page.get_by_text('openai answers and offers 22 models.')).to_be_visible()
    expect(dialog).to_be_hidden()
    expect(models).to_contain_text('Connected: openai.')
    expect(models.get_by_role('button', name='Connect a model')).to_be_focused()


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

"""The settings page in a real browser: endpoints and their tests, the sandbox, files, accessibility."""

import pytest
from playwright.sync_api import expect

from tests.bench.servers.processes import free_port
from tests.browser.conftest import check_page, unfold
from tests.browser.provider import KEY, provider
from tests.browser.server import Server
from tests.support.mcp.pattern import SMALL


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """A server with four endpoints: one works, one is unreachable, one has a wrong key, one has none."""
    server = Server(tmp_path_factory.mktemp('server'))
    with provider() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv('GOOD_KEY', KEY)
        patch.setenv('BAD_KEY', 'a-wrong-key')
        server.endpoints.write_text(
            f'[endpoints.good]\nurl = "{url}"\nkey = "env:GOOD_KEY"\n'
            f'[endpoints.refused]\nurl = "{url}"\nkey = "env:BAD_KEY"\n'
            f'[endpoints.away]\nurl = "http://127.0.0.1:{free_port()}/v1"\n'
            f'[endpoints.keyless]\nurl = "{url}"\nkey = "env:NO_SUCH_VARIABLE"\n'
            f'{SMALL}[mcp.lost]\ncommand = "/no/such/program"\n'
        )
        server.start()
        yield server
        server.stop()


@pytest.fixture
def settings(page, server):
    page.goto(f'{server.url}/settings')
    return page


def card(page, name):
    return page.locator('.endpoint').filter(has=page.get_by_role('heading', name=name, exact=True)).first


def test_all_endpoints_are_tested_without_showing_a_key(settings):
    settings.get_by_role('button', name='Test all').click()
    expect(card(settings, 'good').locator('.pill')).to_have_text('Works')
    expect(card(settings, 'away')).to_contain_text(
        'Check that it is running and that the address is correct.'
    )
    expect(card(settings, 'refused')).to_contain_text('Check that the key is complete')
    expect(card(settings, 'keyless').locator('.pill')).to_have_text('Failed')
    assert KEY not in settings.content() and 'a-wrong-key' not in settings.content()


@pytest.mark.long
def test_mcp_servers_are_tested_and_their_tools_can_be_tried(settings, server):
    settings.get_by_role('button', name='Test lost').click()
    expect(card(settings, 'lost').locator('.pill')).to_have_text('Failed')
    expect(card(settings, 'lost')).to_contain_text('cannot be reached')
    settings.get_by_role('button', name='Test small').click()
    expect(card(settings, 'small')).to_contain_text('Available, offers', timeout=60_000)
    settings.goto(f'{server.url}/tools')
    expect(settings.get_by_role('link', name='small_add')).to_be_visible(timeout=60_000)
    settings.get_by_label('Search tools').fill('small_add')
    settings.get_by_role('link', name='small_add').click()
    expect(settings.get_by_text('MCP server small')).to_be_visible()
    settings.get_by_label('A', exact=True).fill('2')
    settings.get_by_label('B', exact=True).fill('40')
    settings.get_by_role('button', name='Run tool').click()
    expect(settings.get_by_label('Output')).to_contain_text('42')


def test_the_machine_is_rescanned_for_servers(settings):
    settings.get_by_role('button', name='Rescan this machine').click()
    expect(settings.get_by_role('button', name='Rescan this machine')).to_be_enabled()
    expect(settings.get_by_text('Not found on this machine')).to_be_visible()


def test_the_example_is_copied(open_page, server):
    page = open_page(permissions=['clipboard-read', 'clipboard-write'])
    page.goto(f'{server.url}/settings')
    page.get_by_role('button', name='Copy example').click()
    expect(page.get_by_text('Copied')).to_be_visible()
    assert page.evaluate('navigator.clipboard.readText()').startswith('[endpoints.work]')
    page.add_init_script('delete Navigator.prototype.clipboard')  # as on a plain http:// address
    page.reload()
    page.get_by_role('button', name='Copy example').click()
    expect(page.get_by_text('The browser does not allow copying here.')).to_be_visible()


def test_it_is_accessible_and_fits(settings):
    settings.get_by_role('button', name='Test all').click()
    expect(card(settings, 'good').locator('.pill')).to_have_text('Works')
    unfold(settings)
    check_page(settings)

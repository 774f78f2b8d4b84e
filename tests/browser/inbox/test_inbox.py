"""The inbox and notifications in a browser: questions answered once, and browser notifications."""

import re

from playwright.sync_api import expect

from tests.support.servers.http_server import local

STAND_IN = """window.told = [];
window.Notification = class { constructor(text, more) { window.told.push([text, more.body]); }
  static permission = 'default';
  static async requestPermission() { return window.Notification.permission = 'granted'; } };"""


def start_crew(server):
    return server.launch('crew', workers=0).rpartition('/')[2]


def test_a_question_is_answered_once_in_the_inbox(page, open_page, crew_server, axe):
    page.goto(f'{crew_server.url}/inbox')
    expect(page.get_by_text('Nothing is waiting for you.')).to_be_visible()
    run = start_crew(crew_server)
    card = page.get_by_role('article')
    expect(card).to_contain_text('Allow deployer to use deploy?', timeout=30_000)
    expect(card).to_contain_text('targetproduction')
    axe(page, dark=True)
    card.get_by_label('Assigned to').fill('Ada')
    card.get_by_label('Assigned to').press('Enter')
    card.get_by_label('Assigned to').blur()
    ask_id = card.get_attribute('data-ask')
    other, late = open_page(width=390, height=844), open_page()
    other.goto(f'{crew_server.url}/inbox/{ask_id}')
    late.goto(f'{crew_server.url}/inbox/{ask_id}')
    expect(other.get_by_label('Assigned to')).to_have_value('Ada')
    axe(other)
    other.get_by_role('button', name='Allow once').click()
    expect(other.get_by_text('This question is closed')).to_be_visible(timeout=30_000)
    expect(page.get_by_text('Nothing is waiting for you.')).to_be_visible(timeout=30_000)
    late.get_by_role('button', name='Deny').click()
    expect(late.get_by_text('This question is closed')).to_be_visible()
    expect(late.get_by_text(re.compile(r'Step \d+ has ended the question \(approve\)'))).to_be_visible()
    assert crew_server.ask(f'/runs/{run}/result?wait=30')['status'] == 'done'
    late.goto(f'{crew_server.url}/inbox/{run}.1.00000000')
    expect(late.get_by_text('No such question')).to_be_visible()


def test_typed_text_stays_when_another_question_arrives(page, crew_server):
    start_crew(crew_server)
    page.goto(f'{crew_server.url}/inbox')
    who = page.get_by_label('Assigned to').nth(1)  # the first is a filter
    who.press_sequentially('Gra')
    start_crew(crew_server)
    expect(page.get_by_role('article')).to_have_count(2, timeout=30_000)
    expect(who).to_have_value('Gra')
    expect(who).to_be_focused()


def test_a_question_is_snoozed(page, crew_server):
    start_crew(crew_server)
    page.goto(f'{crew_server.url}/inbox')
    expect(page.get_by_role('article')).to_be_visible(timeout=30_000)
    page.get_by_role('article').get_by_label('Snooze').select_option('3600')
    expect(page.get_by_text('Nothing is waiting for you; 1 question snoozed.')).to_be_visible()
    page.get_by_role('button', name='Show snoozed').click()
    page.get_by_role('button', name='Unsnooze').click()
    expect(page.get_by_role('article').get_by_label('Snooze')).to_be_visible()


def test_the_browser_notifies_of_each_question_once(page, crew_server):
    page.add_init_script(STAND_IN)
    page.goto(f'{crew_server.url}/inbox')
    switch = page.get_by_role('button', name='Notify me in this browser')
    expect(switch).to_have_attribute('aria-pressed', 'false')
    switch.click()
    expect(switch).to_have_attribute('aria-pressed', 'true')
    start_crew(crew_server)
    page.wait_for_function('window.told.length > 0')
    assert page.evaluate('window.told[0][0]') == 'Allow deployer to use deploy?'
    page.evaluate('sessionStorage.setItem("granted", "1")')
    page.goto(f'{crew_server.url}/tools')
    page.evaluate('window.Notification.permission = "granted"')
    expect(page.get_by_role('button', name='Needs you (1)')).to_be_visible(timeout=30_000)
    assert page.evaluate('window.told') == []


def test_a_destination_is_added_tested_and_its_message_sent_again(page, server, axe):
    answers = [500, 204, 204]
    with local(lambda method, path, body: (answers.pop(0), {}, b'')) as receiver:
        page.goto(f'{server.url}/notifications')
        page.get_by_role('button', name='Add destination').click()
        dialog = page.get_by_role('dialog')
        dialog.get_by_label('Name').fill('On call')
        dialog.get_by_label('Address').fill('team.example')
        dialog.get_by_role('button', name='Save').click()
        expect(dialog).to_contain_text('Enter a URL such as https://team.example/hook')
        dialog.get_by_label('Address').fill(f'{receiver.url}/hook')
        dialog.get_by_role('button', name='Save').click()
        expect(page.locator('.secret')).to_contain_text('whsec_')
        page.get_by_role('button', name='I have saved it').click()
        page.get_by_role('button', name='Send test: On call').click()
        row = page.get_by_role('listitem').filter(has_text='Hemicycle can send')
        expect(row).to_contain_text('answered 500', timeout=30_000)
        axe(page, dark=True)
        row.get_by_role('button').click()
        expect(row).to_contain_text('Sent', timeout=30_000)
        assert [request[3]['type'] for request in receiver.asked[:2]] == ['test', 'test']

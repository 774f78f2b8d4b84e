"""Requests waiting for a person: counted on every page, and answered from any of them."""

import re

from playwright.sync_api import expect


def test_an_approval_is_given_from_another_page(page, open_page, crew_server, axe):
    page.goto(crew_server.launch('crew', workers=0))
    other = open_page()
    other.goto(f'{crew_server.url}/tools')
    counter = other.get_by_role('button', name='Needs you (1)')
    expect(counter).to_be_visible(timeout=30_000)
    expect(other).to_have_title(re.compile(r'^\(1\) Tools'))
    counter.click()
    element = other.get_by_role('dialog', name='Needs you')
    expect(element).to_contain_text('Allow deployer to use deploy?')
    expect(element).to_contain_text('target: production')
    axe(other)
    element.get_by_role('button', name=re.compile('^Allow: ')).press('Enter')
    expect(counter).to_be_hidden()
    expect(other.locator(':focus')).to_have_count(1)
    expect(other).to_have_title(re.compile('^Tools'))
    expect(page.locator('.run-facts .pill')).to_have_text('Done', timeout=30_000)

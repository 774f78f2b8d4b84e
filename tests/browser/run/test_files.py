"""The files tab in a real browser: contents, links to steps, differences, downloads that stay files."""

import re
import zipfile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import Server

FIRST, SECOND = 'part 1', 'part 1, done'


@pytest.fixture(scope='module')
def waiting(crews: Server) -> str:
    """The address of a run whose three workers each wrote two versions of their files."""
    crews.cancel_runs()
    url = crews.launch('crew')
    crews.wait_until_asked()
    return url


def open_files(page: Page, url: str) -> None:
    page.goto(url)
    page.get_by_role('tab', name='Files').click()


def test_a_version_is_downloaded_never_as_a_page_and_links_to_its_step(page, waiting, axe):
    origin = waiting.partition('/runs/')[0]
    open_files(page, waiting)
    content = page.locator('.code')
    expect(content).to_have_text(SECOND)
    expect(page.locator('.files-summary')).to_contain_text('2 files')
    archive = page.get_by_role('link', name='ZIP')
    with page.expect_download() as download:
        archive.click()
    with zipfile.ZipFile(download.value.path()) as files:
        assert files.namelist() == ['notes.txt', 'src/part_1.py']
    href = page.get_by_role('link', name='Download').get_attribute('href')
    answer = page.request.get(f'{origin}{href}')
    assert answer.body() == f'{SECOND}\n'.encode()
    assert answer.headers['content-disposition'].startswith('attachment; filename="notes.txt"')
    assert answer.headers['x-content-type-options'] == 'nosniff'
    assert answer.headers['content-type'] == 'application/octet-stream'
    for digest in ('0' * 64, '..%2f..%2fetc%2fpasswd', 'abc'):
        assert page.request.get(re.sub(r'kept/[^?]+', f'kept/{digest}', f'{origin}{href}')).status == 404

    page.get_by_role('button', name='part_1.py').click()
    expect(content).to_contain_text('def add(a, b):')
    axe(page)
    first = page.get_by_role('group', name='Versions of this folder').get_by_role('button').first
    step = re.search(r'\d+', first.inner_text().partition('step')[2])[0]
    first.click()
    expect(page).to_have_url(f'{waiting}/files?at={step}')
    page.get_by_role('button', name='notes.txt').click()
    expect(content).to_have_text(FIRST)
    page.keyboard.press('Home')
    expect(page.get_by_text('No files up to this step.')).to_be_visible()


@pytest.mark.long
def test_a_long_result_is_shortened_and_versions_of_files_are_compared(page, waiting, axe):
    page.goto(waiting)
    page.get_by_role('button', name='Working: done').click()
    worker = page.get_by_role('region', name='worker 1', exact=False).first
    report = worker.locator('.tool', has_text='report')
    expect(report).not_to_contain_text('line 899')
    report.get_by_role('button', name='Show all').click()
    expect(report).to_contain_text('line 899')
    with page.expect_download() as download:
        report.get_by_role('link', name='Download the full result').click()
    with download.value.path().open() as file:
        assert len(file.read().splitlines()) == 900
    assert download.value.suggested_filename == 'report.txt'

    page.keyboard.press('End')
    page.get_by_role('tab', name='Files').click()
    expect(page.locator('.code')).to_have_text(SECOND)
    page.get_by_role('button', name='Compare').click()
    summary = page.get_by_role('tabpanel', name='Files').locator('.files-summary')
    expect(summary).to_have_text('1 file differs: +1 -1 lines')
    expect(page.locator('.code .removed')).to_contain_text(FIRST)
    expect(page.locator('.code .added')).to_contain_text(SECOND)
    axe(page)
    other = page.get_by_label('Compare to')
    other.select_option(label=other.locator('option').last.inner_text())
    expect(page.locator('.files-summary')).to_contain_text('3 files differ')
    expect(page.get_by_role('button', name='part_3.py')).to_contain_text('added')


def test_a_changed_project_opens_on_its_diff(page, server):
    request = 'The spans tests fail: find the bug and fix it'
    page.goto(server.launch('debugger', request=request, ended=True))
    page.get_by_role('tab', name='Files').click()
    files = page.get_by_role('tabpanel', name='Files')
    expect(files.locator('.files-summary')).to_have_text('1 file differs: +1 -1 lines')
    expect(files.locator('.code .added')).to_contain_text('max(merged[-1][1], end)')
    with page.expect_download() as download:
        page.get_by_role('link', name='Patch').click()
    patch = download.value.path().read_text()
    assert patch.startswith('--- a/spans.py') and '.git' not in patch

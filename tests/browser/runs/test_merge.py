"""Merging an agent's work in a real browser: a conflict is shown, resolved by hand, and merged."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OVERFLOW, OpenPage
from tests.browser.server import Server

SOURCE = '''
"""One agent that changes a line of a project."""
from pydantic import BaseModel

from engine import Pattern

TEXT = ''.join(f'line {number}\\n' for number in range(1, 31))


class Making(Pattern):
    """Changes a line."""

    class Parameters(BaseModel):
        project: str = ''

    initial = 'preparing'
    states = (
        {'name': 'preparing', 'invoke': 'prepare'},
        {'name': 'working', 'invoke': 'work'},
        {'name': 'over', 'final': True},
    )
    transitions = (['done', 'preparing', 'working'], ['done', 'working', 'over'])

    async def prepare(self, memory, activity):
        return {'snapshots': {'one': await self.written(activity, TEXT)}}

    async def work(self, memory, activity):
        mine = TEXT.replace('line 9\\n', 'by the agent\\n').replace('line 25', 'far away')
        return {'snapshots': {'one': await self.written(activity, mine)}, 'results': []}

    async def written(self, activity, text):
        folder = activity.workspace('one')
        await folder.write('a.txt', text.encode())
        return await folder.snapshot()
'''
TEXT = ''.join(f'line {number}\n' for number in range(1, 31))


def git(folder: Path, *arguments: str) -> str:
    command = ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.long
def test_a_conflict_is_resolved_by_hand_and_merged(
    open_page: OpenPage, new_server: Server, tmp_path: Path, axe: Callable[..., None]
) -> None:
    project = tmp_path / 'project'
    project.mkdir()
    git(project, 'init', '-q', '-b', 'main')
    (project / 'a.txt').write_text(TEXT)
    git(project, 'add', '-A')
    git(project, 'commit', '-q', '-m', 'first')
    new_server.patterns = tmp_path / 'patterns'
    new_server.patterns.mkdir()
    (new_server.patterns / 'making.py').write_text(SOURCE)
    new_server.start()
    page = open_page()
    run = new_server.launch('making', project=str(project), options={'title': 'Change a line'}, ended=True)
    git(project, 'checkout', '-q', '-b', 'other')
    (project / 'a.txt').write_text(TEXT.replace('line 9\n', 'by the user\n'))
    git(project, 'commit', '-qam', 'mine')
    mine = git(project, 'rev-parse', 'other')

    page.goto(f'{run}/files')
    page.get_by_role('link', name='Merge').click()
    page.wait_for_url(f'{run}/review')
    page.get_by_role('button', name='Preview merge').click()
    card = page.get_by_role('group', name='Conflict in a.txt')
    expect(card.locator('tr.removed')).to_have_text(re.compile('by the user'))
    expect(card.locator('tr.added')).to_have_text(re.compile('by the agent'))
    editor = card.get_by_label('Resolved file')
    expect(editor).to_be_hidden()
    for width in (1440, 1024, 390):
        page.set_viewport_size({'width': width, 'height': 900})
        assert page.evaluate(OVERFLOW) <= 0
        axe(page, dark=True)

    # Text with conflict markers is refused, and nothing typed is lost.
    card.get_by_label('Use').select_option('Edit by hand')
    expect(editor).to_have_value(
        re.compile('<<<<<<< other\nby the user\n=======\nby the agent\n>>>>>>> the agent')
    )
    resolve = page.get_by_role('button', name='Resolve')
    resolve.click()
    expect(page.get_by_role('alert').filter(has_text='a.txt still contains')).to_be_visible()
    merged = TEXT.replace('line 9\n', 'by both\n').replace('line 25', 'far away')
    editor.fill(merged)
    resolve.click()
    expect(page.get_by_text('Resolved: a.txt.')).to_be_visible()
    assert git(project, 'rev-parse', 'other') == mine
    page.get_by_role('button', name='Merge', exact=True).click()
    page.get_by_role('dialog').get_by_role('button', name='Merge', exact=True).click()
    expect(page.get_by_text(re.compile(r'Merged into other: commit \w+'))).to_be_visible()
    assert (project / 'a.txt').read_text() == merged
    assert git(project, 'log', '--format=%s').split('\n')[:3] == ['Change a line', 'mine', 'first']

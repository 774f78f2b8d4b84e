"""The files of the launch form: given, renamed, refused, and taken from an earlier run."""

from types import SimpleNamespace

import pytest

from engine.agents.chart import agent
from engine.records import RunQuery
from engine.workspace import read_given_files
from tests.support.harness import Lone, complete_run, until
from tests.support.pages.clicks import see
from ui.web.pages.shared.launching.files_field import UNUSED


class Reader(Lone):
    """One agent that reads files."""

    states = (agent('working', prompt='ask', tools=('read_file',)), *Lone.states[1:])


@pytest.fixture(autouse=True)
def readers(conductor):
    conductor.catalog.add(Reader)


def upload(name, data):
    async def read():
        return data

    return SimpleNamespace(file=SimpleNamespace(name=name, read=read))


async def test_files_are_given_and_given_again(pages, conductor, launchers):
    await pages.open('/launch/reader')
    files = launchers[-1]._fields.files
    await files._on_upload(upload('notes.md', b'# Notes'))
    await files._on_upload(upload('picture.png', b'\x89PNG\0'))
    await see(pages, '2 files, 12 B: notes.md, picture.png')
    files._given[0].box.set_value('../notes.md')
    await see(pages, 'Must not have . or .. or an empty name in it.')
    await launchers[-1].start()
    assert not (await conductor.runs(RunQuery())).total
    files._given[0].box.set_value('docs/notes.md')
    files._given[1].box.set_value('docs/notes.md')
    await see(pages, 'Is the path of two files.')
    files._given[1].box.set_value('docs/picture.png')
    await launchers[-1].start()
    [info] = (await conductor.runs(RunQuery())).runs
    given = {'docs/notes.md': '# Notes', 'docs/picture.png': {'base64': 'iVBORwA='}}
    assert await read_given_files(conductor.workspaces, info) == given

    await pages.open(f'/launch/reader?again={info.id}')
    again = launchers[-1]._fields.files
    await until(lambda: again.chosen == given)
    assert again.check() and launchers[-1]._fields.submit().files == given


async def test_a_large_file_does_not_cost_the_draft(pages, launchers):
    await pages.open('/launch/reader')
    form = launchers[-1]
    await form._fields.files._on_upload(upload('large.txt', b'x' * 100_000))
    form._fields.options.controls['title'].set_content('Mine')
    await form._on_settled()
    await pages.open('/launch/reader')
    fields = launchers[-1]._fields
    assert fields.options.raw['title'] == 'Mine' and not fields.files.chosen


async def test_a_pattern_without_use_for_files_says_so(pages, conductor, launchers):
    await pages.open('/launch/pipeline')
    await see(pages, 'not used here', UNUSED)


async def test_an_experiment_begins_with_the_files_of_its_runs(pages, conductor):
    runs = [await complete_run(conductor, 'reader', files={'a.txt': text}) for text in ('one', 'two')]
    await pages.open(f'/experiments/new?runs={",".join(runs)}')
    await see(pages, '1 file, 3 B: a.txt', 'file a.txt')

"""The files that a run is started with: what may be given, who finds them, and that they are never lost."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Conductor, InvalidInput, LocalConductor, Status
from engine.agents.chart import agent
from engine.errors import JournalUnavailable, WorkspaceError
from engine.history import ForkOverrides
from engine.journal import MemoryJournal
from engine.patterns.time_bounded.agents import FOLDER
from engine.records import RunId, RunInfo
from engine.records.launch import MAX_FILE, MAX_FILES, MAX_FILES_SIZE, check_files
from engine.tools.builtin.project.read_file import read_file
from engine.tools.builtin.project.write_file import write_file
from engine.workspace import read_given_files
from tests.support.harness import FakeModel, Lone, calls, catalog, complete_run, first_steps, until
from tests.unit.engine.workspace.test_initial_files import FailingCreation, folders

PICTURE = b'\x89PNG\r\n\0\xff'
FILES = {'notes/a.txt': 'Größe: 7\n', 'run.sh': b'#!/bin/sh\nexit 0\n', 'picture.png': PICTURE}
"""As Python gives them: a text, a program and a picture."""
LISTED = ['notes/a.txt', 'picture.png', 'run.sh']


class Workshop(Lone):
    """Two agents with tools for files, of which the first writes one, beside one that only talks."""

    initial = 'both'
    states = [
        {
            'name': 'both',
            'parallel': [
                agent('first', prompt='ask', tools=('read_file', 'write_file')),
                agent('second', prompt='ask', tools=('read_file',)),
                agent('talker', prompt='ask', tools=('notes',)),
            ],
        },
        {'name': 'end', 'final': True},
    ]
    transitions = [['done', 'both', 'end'], ['failed', 'both', 'end']]


def reply(request: Any) -> Any:
    """The first agent writes a file; the second one reads what it was given."""
    if request.hints.turn or request.hints.role not in ('first', 'second'):
        return 'over'
    if request.hints.role == 'first':
        return calls(('write_file', {'path': 'new.txt', 'text': 'mine'}))
    return calls(('read_file', {'path': 'notes/a.txt'}))


def make_conductor(journal: Any, root: Path, model: FakeModel | None = None) -> Conductor:
    tools = (read_file, write_file)
    patterns = catalog(model or FakeModel(reply), Lone, Workshop, tools=tools)
    return LocalConductor(journal, catalog=patterns, workspaces=root)


async def at_step(conductor: Conductor, run: RunId, step: int | None = None) -> dict[str, list[str]]:
    view = await conductor.view(run, step)
    return {
        folder.removeprefix('both.'): [file.path for file in await conductor.workspaces.files(run, snapshot)]
        for folder, snapshot in view.files.items()
    }


ENDED = {'first': ['new.txt', *LISTED], 'second': LISTED}


async def test_agents_with_tools_for_files_find_them_from_the_first_step_on(tmp_path: Path) -> None:
    model = FakeModel(reply)
    async with make_conductor(MemoryJournal(), tmp_path, model) as conductor:
        run = await complete_run(conductor, 'workshop', files=FILES)
        assert await at_step(conductor, run, 1) == {'first': LISTED, 'second': LISTED}
        assert await at_step(conductor, run) == ENDED
        folder = conductor.workspaces.of(run, 'both.first').folder
        assert (folder / 'picture.png').read_bytes() == PICTURE and (folder / 'run.sh').stat().st_mode & 0o100
        assert any('Größe: 7' in str(request.messages) for request in model.requests)
        info = await conductor.info(run)
        assert info.given_files and dict(info.given_files['sizes']) == {
            'notes/a.txt': 11, 'run.sh': 17, 'picture.png': 8,
        }  # fmt: skip
        assert await read_given_files(conductor.workspaces, info) == check_files(FILES)
        assert await conductor.audit(run) == info.seq
        steps = str([step.event for step in await conductor.transitions(run, until=1)])
        assert 'Größe' not in steps and 'Größe' not in str(info)


async def forked(conductor: Conductor, run: RunId) -> RunId:
    return await conductor.fork(run, (await conductor.info(run)).seq - 2)


async def forked_at_the_start(conductor: Conductor, run: RunId) -> RunId:
    return await conductor.fork(run, 1)


async def replayed(conductor: Conductor, run: RunId) -> RunId:
    return await conductor.fork(run, 0, overrides=ForkOverrides(after='recorded'))


async def run_again(conductor: Conductor, run: RunId) -> RunId:
    return await conductor.rerun(run)


async def sent(conductor: Conductor, run: RunId) -> RunId:
    bundle = b''.join([piece async for piece in conductor.export_bundle([run])])
    await conductor.delete(run)
    await conductor.purge(run)
    [imported] = await conductor.import_bundle(io.BytesIO(bundle))
    return await conductor.rerun(RunId(imported.id))


@pytest.mark.parametrize('derive', [forked, forked_at_the_start, replayed, run_again, sent])
async def test_derived_runs_have_the_same_files(
    derive: Callable[[Conductor, RunId], Any], tmp_path: Path
) -> None:
    async with make_conductor(MemoryJournal(), tmp_path) as conductor:
        run = await complete_run(conductor, 'workshop', files=FILES)
        derived = await derive(conductor, run)
        assert (await conductor.result(derived)).status is Status.DONE
        assert await at_step(conductor, derived) == ENDED
        assert await read_given_files(conductor.workspaces, await conductor.info(derived)) == check_files(
            FILES
        )
        program = conductor.workspaces.of(derived, 'both.second').folder / 'run.sh'
        assert program.is_file() or derive is replayed  # There was no work to restore them for.


@pytest.mark.parametrize('steps', [0, 1, 3])
async def test_a_run_that_is_recovered_has_its_files(steps: int, tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with make_conductor(journal, tmp_path) as crashed:
        run = await complete_run(crashed, 'workshop', files=FILES)
    cut = await first_steps(journal, run, steps)
    async with make_conductor(cut, tmp_path) as successor:
        assert await successor.recover() == [run]
        assert (await successor.result(run)).status is Status.DONE
        assert await at_step(successor, run) == ENDED


async def test_a_run_that_is_not_journaled_leaves_no_files(tmp_path: Path) -> None:
    tmp_path.joinpath('kept').mkdir()
    async with make_conductor(FailingCreation(MemoryJournal(), written=False), tmp_path) as conductor:
        with pytest.raises(JournalUnavailable):
            await conductor.start('workshop', files=FILES)
        assert folders(tmp_path) == {'kept'}


async def test_a_pattern_whose_agents_use_no_files_takes_none(tmp_path: Path) -> None:
    async with make_conductor(MemoryJournal(), tmp_path) as conductor:
        with pytest.raises(InvalidInput, match='files: no agent of lone'):
            await conductor.start('lone', files={'a.txt': 'a'})
        run = await complete_run(conductor, 'lone', files={'a.txt': 'a'}, tools={'working': ['read_file']})
        assert list((await conductor.view(run, 1)).files) == ['working']


async def test_they_are_laid_over_the_project_of_a_pattern(tmp_path: Path) -> None:
    project = tmp_path / 'project'
    (project / 'notes').mkdir(parents=True)
    (project / 'notes' / 'a.txt').write_text('old')
    (project / 'b.txt').write_text('stays')
    async with LocalConductor(workspaces=tmp_path / 'runs') as conductor:
        run = (
            await conductor.start(
                'time-bounded',
                {'primary_goal': 'Look after it', 'project': str(project)},
                files={'notes/a.txt': 'new'},
            )
        ).id
        folder = conductor.workspaces.of(run, FOLDER).folder
        await until(
            lambda: (folder / 'b.txt').is_file() and (folder / 'notes' / 'a.txt').read_text() == 'new'
        )
        await conductor.cancel(run)
    assert (project / 'notes' / 'a.txt').read_text() == 'old'


async def test_what_a_bundle_says_of_files_is_not_believed(tmp_path: Path) -> None:
    async with make_conductor(MemoryJournal(), tmp_path) as conductor:
        info = await conductor.info(await complete_run(conductor, 'workshop', files=FILES))

        def claiming(**given: Any) -> RunInfo:
            return replace(info, options={'files': given})

        assert claiming(snapshot=7, sizes={}).given_files is None
        for snapshot in ('../../etc', 'a' * 64):
            with pytest.raises(WorkspaceError):
                await read_given_files(conductor.workspaces, claiming(snapshot=snapshot, sizes={'a': 1}))


def test_files_have_one_form_whoever_gives_them() -> None:
    assert check_files({'a': b'text', 'b': {'base64': 'dGV4dA=='}, 'c': 'a\0b', 'd': PICTURE}) == {
        'a': 'text', 'b': 'text', 'c': {'base64': 'YQBi'}, 'd': {'base64': 'iVBORw0KAP8='},
    }  # fmt: skip


@pytest.mark.parametrize(
    ('files', 'field', 'problem'),
    [
        ({'../a': ''}, 'files.../a', 'must not have . or .. or'),
        ({'a/../../b': ''}, 'files.a/../../b', 'must not have . or .. or'),
        ({'/etc/passwd': ''}, 'files./etc/passwd', 'must not begin'),
        ({'a\\b': ''}, 'files.a\\b', 'backslashes'),
        ({'a\0b': ''}, 'files.a\0b', 'control characters'),
        ({'a\udc00': ''}, 'files.a\udc00', 'control characters'),
        ({'a//b': ''}, 'files.a//b', 'an empty name'),
        ({'a/': ''}, 'files.a/', 'an empty name'),
        ({'': ''}, 'files.', 'must be a path'),
        ({'.git/hooks/pre-commit': ''}, 'files..git/hooks/pre-commit', 'uses itself'),
        ({'sub/.GIT/config': ''}, 'files.sub/.GIT/config', 'uses itself'),
        ({'x' * 256: ''}, f'files.{"x" * 256}', 'too long'),
        ({'README.md': '', 'readme.md': ''}, 'files.readme.md', "differs from 'README.md' only in case"),
        ({'Docs/a': '', 'docs/b': ''}, 'files.docs/b', "differs from 'Docs' only in case"),
        ({'u\u0308': '', '\u00fc': ''}, 'files.\u00fc', 'only in case or accents'),
        ({'a/b': '', 'a': ''}, 'files.a', 'is a folder, too'),
        ({'a': {'base64': '%%'}}, 'files.a', 'is not base64'),
        ({'a': {'base64': 'YQ==', 'mode': 7}}, 'files.a', 'must be text, or bytes'),
        ({'a': 7}, 'files.a', 'must be text, or bytes'),
        ({'a': '\ud800'}, 'files.a', 'are no text'),
        ({'a': b'x' * (MAX_FILE + 1)}, 'files.a', 'is larger than 1 MB'),
        ({str(n): '' for n in range(MAX_FILES + 1)}, 'files', 'are more than 100'),
        ({str(n): 'x' * MAX_FILE for n in range(MAX_FILES_SIZE // MAX_FILE + 1)}, 'files', 'MB together'),
        ('a', 'files', 'must be contents by path'),
    ],
)
def test_a_file_that_cannot_be_given_is_named(files: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_files(files)
    assert list(refused.value.problems) == [field]
    assert problem in refused.value.problems[field]

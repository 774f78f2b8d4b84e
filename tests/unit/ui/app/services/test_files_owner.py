"""One place of files for one database: a second one is refused before it can remove anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from engine.errors import InvalidInput
from engine.journal import Entry
from engine.journal.documents import MemoryDocuments
from storage.s3.files import S3Files
from tests.support.cli import Hemicycle, invoke
from tests.support.servers.s3 import S3Server
from ui.app.services.files_owner import MARKER, claim_files


@pytest.fixture
def files(s3: S3Server) -> S3Files:
    return S3Files(s3.bucket())


async def test_a_database_keeps_the_place_that_it_claimed(files: S3Files) -> None:
    first, second = MemoryDocuments(lambda: ()), MemoryDocuments(lambda: ())
    await claim_files(first, files)
    await claim_files(first, files)
    files.send('a-run/objects/ab/one', b'one')
    with pytest.raises(InvalidInput, match=r'--files: .*/team/files at .* has the files of another database'):
        await claim_files(second, files)
    assert files.folders() == ['a-run']
    files.remove([MARKER])  # as the message suggests
    await claim_files(second, files)
    with pytest.raises(InvalidInput):
        await claim_files(first, files)


class RacingDocuments(MemoryDocuments):
    """Another process identifies the database just before this one does."""

    async def write(self, written: list[Entry], deleted: tuple[Entry, ...] = ()) -> None:  # type: ignore[override]
        if await self.get(written[0].kind, written[0].key) is None:
            await super().write([Entry(kind=written[0].kind, key=written[0].key, body={'id': 'theirs'})])
        await super().write(written, deleted)


async def test_processes_that_start_at_once_agree(files: S3Files) -> None:
    documents = RacingDocuments(lambda: ())
    await asyncio.gather(*(claim_files(documents, files) for _ in range(3)))
    assert b''.join(files.read(MARKER)) == b'theirs'


def test_a_command_that_starts_runs_refuses_another_databases_files(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('HEMICYCLE_FILES', s3.bucket())
    task = ('run', 'pipeline', '--task', 'Compare tea and coffee', '-q')
    for name in ('one', 'other'):
        (tmp_path / name).mkdir()
    one, other = Hemicycle(tmp_path / 'one'), Hemicycle(tmp_path / 'other')
    for _ in range(2):
        invoke(one, *task)
    assert 'has the files of another database' in invoke(other, *task, code=2)
    assert other.find_newest() is None
    for database_exists in (True, False):
        if not database_exists:
            other.database.unlink()
        broken = other('doctor')
        assert (broken.exit_code, 'has the files of another database' in broken.stdout) == (1, True)
    assert 'has the files of another database' not in one('doctor').stdout

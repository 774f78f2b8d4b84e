"""Downloads of a damaged run: an error instead of a truncated file."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO, get_args

import httpx
import pytest

from engine import Conductor, LocalConductor
from tests.support.harness import FakeModel, catalog, complete_run
from tests.support.journals.damaged_journal import DamagedJournal
from ui.web import downloads
from ui.web.exports.formats import FormatName


@pytest.fixture
def journal() -> DamagedJournal:
    return DamagedJournal()


@pytest.fixture
async def conductor(model: FakeModel, journal: DamagedJournal) -> AsyncIterator[Conductor]:
    async with LocalConductor(journal, catalog=catalog(model)) as conductor:
        yield conductor


@pytest.mark.parametrize('form', get_args(FormatName))
async def test_an_export_of_a_damaged_run_returns_the_error(
    journal: DamagedJournal, conductor: Conductor, http: httpx.AsyncClient, form: str
) -> None:
    run = await complete_run(conductor, 'pipeline', {'task': 'Compare tea and coffee'})
    journal.damaged = last = (await conductor.info(run)).seq
    for answer in (
        await http.get(f'/runs/{run}/export/{form}'),
        await http.post('/exports', json={'runs': [run]}),
    ):
        assert answer.status_code == 500
        assert answer.json()['type'] == 'urn:hemicycle:journal-damaged'
        assert f'step {last} of run {run} is missing' in answer.json()['detail']
        assert answer.json()['about'] == {'run': run, 'step': last}
    journal.damaged = 0
    assert len((response := await http.get(f'/runs/{run}/export/{form}')).content) == int(
        response.headers['Content-Length']
    )


async def test_a_download_on_a_full_disk_returns_a_message(
    conductor: Conductor, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await complete_run(conductor, 'pipeline', {'task': 'Compare tea and coffee'})
    monkeypatch.setattr(downloads.tempfile, 'TemporaryFile', full_disk)
    answer = await http.get(f'/runs/{run}/export/bundle')
    assert answer.status_code == 409
    assert answer.json()['detail'] == 'the file cannot be made: No space left on device'


async def test_an_import_on_a_full_disk_returns_a_message(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads.tempfile, 'TemporaryFile', full_disk)
    answer = await http.post('/imports', content=b'{}', headers={'Content-Type': 'application/gzip'})
    assert answer.status_code == 409
    assert answer.json()['detail'] == 'the file cannot be made: No space left on device'


def full_disk() -> BinaryIO:
    return Path('/dev/full').open('r+b', buffering=0)

"""Programs without settings of their own use the command line's endpoints and database."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import LocalConductor
from storage import Settings as JournalSettings
from ui.app.settings import Settings


async def test_a_program_reads_the_same_endpoints_as_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / 'endpoints.toml'
    file.write_text('[endpoints.house]\nurl = "http://models.invalid/v1"\n')
    monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(file))
    async with LocalConductor() as conductor:
        assert 'house' in {endpoint.name for endpoint in conductor.catalog.registry.endpoints}


@pytest.mark.parametrize('name', ['HEMICYCLE_HOME', 'HEMICYCLE_DATABASE', ''])
def test_a_program_reads_the_same_database_as_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for each in ('HEMICYCLE_HOME', 'HEMICYCLE_DATABASE'):
        monkeypatch.delenv(each, raising=False)
    if name:
        monkeypatch.setenv(name, str(tmp_path / 'here'))
    # The command line's option for the database reads this variable itself.
    typed = str(tmp_path / 'here') if name == 'HEMICYCLE_DATABASE' else ''
    assert str(JournalSettings().database) == Settings.of(typed).database

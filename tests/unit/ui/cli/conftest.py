"""The command line over a database of its own, and `hemicycle doctor` in a separate installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Hemicycle, json_lines
from ui.cli.operation import doctor


@pytest.fixture
def hemicycle(tmp_path: Path) -> Hemicycle:
    return Hemicycle(tmp_path)


class Doctor:
    """The command in a separate installation."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hemicycle = Hemicycle(folder)
        self.configuration = folder / 'endpoints.toml'
        monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(self.configuration))
        folder.chmod(0o700)

    def __call__(self, *options: str, code: int = 0) -> dict[str, dict[str, str]]:
        """Return the findings by subject."""
        result = self.hemicycle('doctor', '--json', *options)
        assert result.exit_code == code, result.output
        lines = json_lines(result.stdout)
        return {line['about']: line for line in lines}


@pytest.fixture
def examine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doctor:
    monkeypatch.delenv('HEMICYCLE_UNSAFE_COMMANDS', raising=False)
    monkeypatch.setattr(doctor, 'TIGHT', 0)
    return Doctor(tmp_path, monkeypatch)

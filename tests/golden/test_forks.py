"""Forks without edits: of every recorded run and at every third step, they reach the same journal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine import Catalog, Conductor, LocalConductor, Status
from engine.journal import MemoryJournal
from engine.records import RunId, RunInfo
from engine.workspace.workspaces import Workspaces
from tests.golden.test_replay import FOLDER, GOLDEN, STEPS
from tests.support.forks import forks_alike

CATALOG = Catalog.load()


async def copy_nothing(*_: object) -> None:
    """Copy no files, since golden journals come without the files of their agents."""


async def load_golden(path: Path) -> tuple[Conductor, RunId]:
    document = json.loads(path.read_text('utf-8'))
    steps, journal = STEPS.validate_python(document['steps']), MemoryJournal()
    conductor = LocalConductor(journal, catalog=CATALOG)
    shape = conductor.catalog.draw(document['pattern'], document['parameters'])
    info = RunInfo(
        id=GOLDEN, pattern=document['pattern'], title='golden', parameters=document['parameters'], epoch=1
    )
    await journal.create(info, shape)
    await journal.append(replace(info, seq=len(steps), status=Status(document['status'])), steps)
    return conductor, GOLDEN


@pytest.mark.parametrize('path', sorted(FOLDER.glob('*.json')), ids=lambda path: path.stem)
async def test_a_fork_reaches_the_same_journal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workspaces, 'fork', copy_nothing)
    monkeypatch.setattr(Workspaces, 'restore', copy_nothing)
    conductor, run = await load_golden(path)
    async with conductor:
        assert await forks_alike(conductor, run, every=3) > 1

"""Versions of patterns: what they depend on, and what a run does with its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine import Catalog
from engine.errors import UnknownVersion
from engine.history import ForkOverrides
from engine.journal.memory_journal import MemoryJournal
from tests.support.forks import make_conductor
from tests.support.harness import FakeModel, Lone, complete_run

HELPER = 'LIMIT = 3\n'
PATTERN = """
from engine import Pattern
from versions_helper import (
    LIMIT,
)

class Counting(Pattern):
    initial = 'a'
    states = ['a', {'name': 'b', 'final': True}]
    transitions = [['go', 'a', 'b']]
"""


def version_in(folder: Path, **files: str) -> str:
    """The version of the pattern in a folder with these files."""
    folder.mkdir()
    for name, text in {'versions_helper': HELPER, 'counting': PATTERN, **files}.items():
        (folder / f'{name}.py').write_text(text, 'utf-8')
    catalog = Catalog.load([folder])
    assert catalog.faults == []
    return catalog.pattern('counting').version


def test_a_version_is_what_its_module_and_those_that_it_imports_from_its_folder_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / 'one'))
    one = version_in(tmp_path / 'one')
    assert len(one) == 12 and one == version_in(tmp_path / 'two', unrelated='x = 1\n')
    assert one != version_in(tmp_path / 'three', versions_helper='LIMIT = 4\n')
    assert one != version_in(tmp_path / 'four', counting=f'{PATTERN}\n    answer = ""\n')


def test_a_pattern_built_on_an_included_one_has_a_version_of_both(tmp_path: Path) -> None:
    text = (
        'from engine.patterns.pipeline.pattern import Pipeline\n\nclass Mine(Pipeline):\n    name = "mine"\n'
    )
    (tmp_path / 'mine.py').write_text(text, 'utf-8')
    catalog = Catalog.load([tmp_path])
    versions = {catalog.pattern(name).version for name in ('mine', 'pipeline', 'supervisor')}
    assert len(versions) == 3 and '' not in versions


async def test_a_run_and_its_forks_have_the_version_that_they_run() -> None:
    async with make_conductor(FakeModel(), None, Lone) as conductor:
        version = conductor.catalog.pattern('lone').version
        run = await complete_run(conductor, 'lone')
        fork = await conductor.fork(run, 1)
        assert version and {(await conductor.info(each)).version for each in (run, fork)} == {version}
        assert (await conductor.start('lone', version=version)).id
        with pytest.raises(UnknownVersion, match=f"version 1 of 'lone' is gone; today it is {version}"):
            await conductor.start('lone', version='1')


async def test_todays_code_takes_the_place_of_python_that_is_gone() -> None:
    async with make_conductor(FakeModel(), None, Lone) as conductor:
        run = await complete_run(conductor, 'lone')
        journal = conductor.journal
        assert isinstance(journal, MemoryJournal)
        journal._infos[run] = replace(await conductor.info(run), version='gone')
        assert await conductor.audit(run) and (await conductor.info(run)).version == 'gone'
        fork = await conductor.fork(run, 0, overrides=ForkOverrides(before='live'))
        assert (await conductor.info(fork)).version == conductor.catalog.pattern('lone').version

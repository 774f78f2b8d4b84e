"""A private file loses nothing: not to damage, and not to another writer."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import pytest

from engine.host.private_file import change_private, read_private


def test_a_damaged_file_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / 'keys.json'
    file.write_text('{"a": "se')
    with pytest.raises(OSError, match='not a JSON object'):
        change_private(file, {'b': 'other'})
    assert file.read_text() == '{"a": "se' and read_private(file) == {}


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    file, spawn = tmp_path / 'keys.json', get_context('spawn')
    writers = [spawn.Process(target=_write, args=(file, name)) for name in 'ab']
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(read_private(file)) == 2 * 100
    assert file.stat().st_mode & 0o777 == 0o600


def _write(file: Path, name: str) -> None:
    for number in range(100):
        change_private(file, {f'{name}{number}': number})

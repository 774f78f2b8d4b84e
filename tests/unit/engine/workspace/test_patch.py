"""Patches of an agent's changes: files that a patch cannot hold are reported as left out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from engine.workspace import Workspace, format_patch
from engine.workspace.diff import diff_snapshots
from engine.workspace.object_store import ObjectStore


def apply(patch: str, folder: Path) -> str:
    (folder / 'main.py').write_text('one\n')
    subprocess.run(['git', 'apply'], cwd=folder, input=patch.encode(), check=True)
    assert not (folder / 'link').exists()
    return (folder / 'main.py').read_text()


async def test_links_and_binary_files_are_left_out_and_mentioned(tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path / 'objects')
    workspace = Workspace(tmp_path / 'work', objects)
    await workspace.write('main.py', b'one\n')
    before = await workspace.snapshot()
    await workspace.write('main.py', b'two\n')
    await workspace.write('latin.txt', 'caf\xe9\n'.encode('latin-1'))
    (tmp_path / 'work' / 'link').symlink_to('main.py')
    after = await workspace.snapshot()
    patch = format_patch(diff_snapshots(objects, before, after))
    assert patch.startswith(
        '# Left out: latin.txt, not UTF-8 text\n# Left out: link, a symbolic link\n--- a/main.py\n'
    )
    assert 'link to' not in patch
    if shutil.which('git'):
        assert apply(patch, tmp_path) == 'two\n'

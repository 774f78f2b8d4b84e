"""Agents' files in the terminal: listed, saved, and as a patch that applies."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from engine.workspace import Sandbox
from engine.workspace.project import SAMPLES
from tests.support.cli import Hemicycle


def test_a_patch_of_a_run_applies_to_the_project(hemicycle: Hemicycle, tmp_path: Path) -> None:
    if problem := asyncio.run(Sandbox().problem()):
        pytest.skip(problem)
    assert hemicycle('run', 'debugger', '--task', TASK, '-q').exit_code == 0
    result = hemicycle('runs', 'file', 'diff', 'last')
    assert result.exit_code == 0 and '+++ b/spans.py' in result.stdout and '.git/' not in result.stdout
    copy = tmp_path / 'copy'
    shutil.copytree(SAMPLES / 'spans', copy)
    subprocess.run(['git', 'apply', '-'], input=result.stdout.encode(), cwd=copy, check=True)
    assert 'max(merged[-1][1], end)' in (copy / 'spans.py').read_text()
    listed = hemicycle('runs', 'file', 'list', 'last').stdout
    assert 'spans.py  ' in listed and '.git' not in listed
    assert hemicycle('runs', 'file', 'save', 'last', str(tmp_path / 'saved')).exit_code == 0
    assert (tmp_path / 'saved' / 'spans.py').read_text() == (copy / 'spans.py').read_text()


def test_a_run_without_files_says_so(hemicycle: Hemicycle) -> None:
    hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '-q')
    result = hemicycle('runs', 'file', 'diff', 'last')
    assert result.exit_code != 0 and 'has no files' in result.stderr


TASK = 'The spans tests fail: find the bug and fix it'

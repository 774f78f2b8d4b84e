"""Each deliberate bug turns a test red."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.commands
def test_every_mutation_turns_a_test_red() -> None:
    result = subprocess.run(
        [sys.executable, '-m', 'tests.mutations'], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f'{result.stdout}\n{result.stderr}'

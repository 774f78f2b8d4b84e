"""Each deliberate bug turns a test red."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.mutations.mutations import MUTATIONS

AT_ONCE = 10
"""Mutations per test: few enough for it to end in time even on a busy machine."""


@pytest.mark.slow
@pytest.mark.parametrize('first', range(0, len(MUTATIONS), AT_ONCE))
def test_every_mutation_turns_a_test_red(first: int) -> None:
    names = [mutation.name for mutation in MUTATIONS[first : first + AT_ONCE]]
    result = subprocess.run(
        [sys.executable, '-m', 'tests.mutations', *names], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f'{result.stdout}\n{result.stderr}'

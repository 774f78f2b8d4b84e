"""Each deliberate bug can still be made, and turns a test red."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.mutations.__main__ import check
from tests.mutations.mutations import MUTATIONS
from tests.tree import ROOT

AT_ONCE = 10
"""Mutations per test: few enough for it to end in time even on a busy machine."""


def test_every_mutation_applies() -> None:
    assert MUTATIONS
    for mutation in MUTATIONS:
        check(mutation)
        for guard in mutation.guards:
            file, _, name = guard.partition('::')
            assert f'def {name}' in (ROOT / file).read_text('utf-8'), guard


@pytest.mark.long
@pytest.mark.parametrize('first', range(0, len(MUTATIONS), AT_ONCE))
def test_every_mutation_turns_a_test_red(first: int) -> None:
    names = [mutation.name for mutation in MUTATIONS[first : first + AT_ONCE]]
    result = subprocess.run(
        [sys.executable, '-m', 'tests.mutations', *names], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, f'{result.stdout}\n{result.stderr}'

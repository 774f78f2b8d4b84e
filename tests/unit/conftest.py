"""Fixtures for tests of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.cli import Hemicycle


@pytest.fixture(scope='session')
def done(tmp_path_factory: pytest.TempPathFactory) -> Hemicycle:
    """A database with one finished run of the pipeline, for tests that only read or copy it."""
    from tests.support.cli import Hemicycle

    hemicycle = Hemicycle(tmp_path_factory.mktemp('done'))
    result = hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '--tag', 'demo', '--quiet')
    assert result.exit_code == 0, result.stderr
    return hemicycle

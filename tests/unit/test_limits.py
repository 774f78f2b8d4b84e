"""The guard of a command looks at processes that come and go meanwhile."""

import os

import pytest

from engine.commands.limits import Limits, _excess, family


def test_a_process_that_ends_while_it_is_looked_at_has_no_children(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: object) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, 'scandir', gone)
    assert list(family(os.getpid())) == [os.getpid()]
    assert _excess(os.getpid(), Limits()) is None

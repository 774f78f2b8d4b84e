"""Signals that end a command: what it has half written is removed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from ui.server.grace import exit_cleanly


@pytest.fixture(params=[signal.SIGTERM, signal.SIGHUP])
def number(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal with its default action, whatever the tests were started with."""
    before = signal.signal(request.param, signal.SIG_DFL)
    yield request.param
    signal.signal(request.param, before)


def test_a_signal_ends_a_command_as_an_exit(number: signal.Signals) -> None:
    with pytest.raises(SystemExit) as ended, exit_cleanly():
        os.kill(os.getpid(), number)
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) is signal.SIG_DFL


def test_an_ignored_signal_stays_ignored(number: signal.Signals) -> None:
    signal.signal(number, signal.SIG_IGN)  # As by `nohup`.
    with exit_cleanly():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is signal.SIG_IGN

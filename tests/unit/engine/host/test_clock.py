"""Changes of the system clock neither take time from active runs nor add any."""

import time

import pytest

from engine.host.clock import RealClock


@pytest.mark.parametrize('leap', [-7_200.0, 7_200.0])
def test_changing_the_system_clock_affects_no_run(leap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, wall = RealClock(), time.time
    before = clock.now()
    assert abs(before - wall()) < 5
    monkeypatch.setattr(time, 'time', lambda: wall() + leap)
    assert 0 <= clock.now() - before < 5
    assert abs(RealClock().now() - time.time()) < 5  # later starts use the new time

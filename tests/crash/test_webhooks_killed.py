"""Webhooks whose sender is killed repeatedly, to a receiver that fails half of them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import line, until
from tests.support.servers.http_server import Answer, local
from tests.tree import ROOT

DEADLINE = 600.0


@pytest.mark.long
def test_each_arrives_in_order_although_the_sender_is_killed(tmp_path: Path) -> None:
    assert deliver(tmp_path, runs=20, kills=2) >= 40


def deliver(folder: Path, *, runs: int, kills: int) -> int:
    """Send webhooks for a number of runs while the sender is killed; returns how many arrived."""
    chance = random.Random(1)
    accepted: list[dict[str, Any]] = []

    def receive(method: str, path: str, body: dict[str, Any]) -> Answer:
        if chance.random() < 0.5:
            return 503, {}, b''
        accepted.append(body)
        return 204, {}, b''

    with local(receive) as receiver:
        arguments = [str(folder / 'runs.db'), f'{receiver.url}/hook', str(runs)]
        for kill in range(kills):
            with sender(arguments) as process:
                assert line(process.stdout) == 'the runs are there'
                goal = (kill + 1) * 2 * runs // (kills + 1)
                until(lambda goal=goal: len(accepted) >= goal, f'{goal} are accepted')  # type: ignore[misc]
                assert process.poll() is None, process.communicate()
                process.kill()
        with sender(arguments) as process:
            out, errors = process.communicate(timeout=DEADLINE)
            assert out == 'the runs are there\nall is sent\n', errors
    received: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for body in accepted:
        place = (body['data']['step'], body['type'])
        if place not in received[body['data']['run']]:
            received[body['data']['run']].append(place)
    assert len(received) == runs
    for events in received.values():
        assert events == sorted(events)
        assert events[0][1] == 'run.budget_warned' and events[-1][1] in ('run.ended', 'run.failed')
    return sum(map(len, received.values()))


def sender(arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, '-m', 'tests.crash.webhook_sender', *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding='utf-8'
    )

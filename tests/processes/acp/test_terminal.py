"""External agents from the terminal: chosen like a model, after a warning about their permissions."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.processes.acp.conductor import ODD
from tests.support.cli import Hemicycle

PATTERN = """
from hemicycle import Pattern, agent


class Small(Pattern):
    initial = 'at_work'
    states = [agent('at_work', 'worker', prompt='ask'), {'name': 'over', 'final': True}]
    transitions = [['done', 'at_work', 'over']]

    def ask(self, memory):
        return 'Do it.'
"""


def test_an_agent_is_chosen_like_a_model(
    hemicycle: Hemicycle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured = tmp_path / 'endpoints.toml'
    command = f'command = {json.dumps(sys.executable)}\nargs = {json.dumps([str(ODD), "plain"])}'
    configured.write_text(f'[agents.mine]\n{command}\nsandboxed = false\nvariables = ["ODD_KEY"]\n')
    monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(configured))
    monkeypatch.setenv('ODD_KEY', 'sk-very-secret-1')
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'small.py').write_text(PATTERN)
    options = ('run', 'small', '--patterns', str(tmp_path / 'mine'), '--model', 'worker=agent:mine')
    result = hemicycle(*options)
    assert result.exit_code == 0, result.stderr
    reach = result.stderr.partition('agent:mine: ')[2]
    assert reach.startswith('It runs without a sandbox') and 'It sees the variables ODD_KEY.' in reach
    assert 'sk-very-secret-1' not in result.output
    run = hemicycle.newest()
    assert run.models == {'worker': 'agent:mine'}
    assert hemicycle('run', 'small', '--model', 'worker=agent:nobody').exit_code != 0
    fork = hemicycle('fork', 'start', 'last', '--at', '0', '--yes', '--patterns', str(tmp_path / 'mine'))
    assert fork.exit_code == 0 and f'agent:mine: {reach.strip().splitlines()[0]}' in fork.stderr, fork.output

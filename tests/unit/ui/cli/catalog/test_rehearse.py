"""hemicycle pattern rehearse names mistakes, shows ways, and fails if there are errors."""

from __future__ import annotations

from tests.support.cli import Hemicycle, invoke, json_lines

BROKEN = """
from hemicycle import Pattern

class Broken(Pattern):
    "It waits without saying so."
    initial = 'asking'
    states = ['asking', {'name': 'over', 'final': True}]
    transitions = [['go', 'asking', 'over']]
"""


def test_a_shipped_pattern_is_rehearsed(hemicycle: Hemicycle) -> None:
    assert 'A run can end in: complete, failed.' in invoke(hemicycle, 'pattern', 'rehearse', 'pipeline')
    assert not hemicycle.database.exists()


def test_the_cost_is_said(hemicycle: Hemicycle) -> None:
    told = invoke(hemicycle, 'pattern', 'rehearse', 'pipeline', '--set', 'max_iterations=0')
    assert 'Cost: 3 to 156 calls.' in told and 'No run of this pattern has ended yet' in told
    assert 'No upper bound' in invoke(hemicycle, 'pattern', 'rehearse', 'blog')


def test_the_cost_rests_on_recorded_runs_and_the_chosen_models(hemicycle: Hemicycle) -> None:
    invoke(hemicycle, 'run', 'pipeline', '--task', 'What does a tram cost?')
    told = invoke(hemicycle, 'pattern', 'rehearse', 'pipeline', '--model', 'reviewer=nowhere/large')
    assert '(mean of 1 recorded run)' in told and 'No run of this pattern' not in told
    assert 'Dollars: the price of the largest call of nowhere/large is not known.' in told


def test_a_way_to_a_state_is_shown(hemicycle: Hemicycle) -> None:
    lines = invoke(hemicycle, 'pattern', 'rehearse', 'pipeline', '--to', 'analyzing').splitlines()
    assert [line.split()[1] for line in lines] == ['start', 'done']
    assert 'analyzing.thinking' in lines[-1]
    assert "no state 'nowhere'" in invoke(
        hemicycle, 'pattern', 'rehearse', 'pipeline', '--to', 'nowhere', code=2
    )


def test_errors_fail_the_command(hemicycle: Hemicycle) -> None:
    (hemicycle.patterns / 'broken.py').write_text(BROKEN)
    result = hemicycle('pattern', 'rehearse', 'broken', '--patterns', str(hemicycle.patterns), '--json')
    assert result.exit_code == 1
    [rehearsal] = json_lines(result.stdout)
    assert [(item['rule'], item['state']) for item in rehearsal['findings']] == [('silent-wait', 'asking')]

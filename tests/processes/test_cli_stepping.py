"""Stepping from the command line: each command takes over where the last one let go of the run."""

import json
from pathlib import Path

from tests.commandline import Hemicycle

TASK = ('--task', 'Compare tea and coffee')


def test_a_run_is_stepped_from_one_command_to_the_next(tmp_path: Path) -> None:
    hemicycle = Hemicycle(tmp_path)
    begun = hemicycle('run', 'pipeline', *TASK, '--paused', '--break', 'enter reviewing', '--quiet')
    assert begun.exit_code == 4 and 'is paused at step 2 in researching.thinking' in begun.stderr
    stepped = hemicycle('step', '--json')
    *steps, outcome = [json.loads(line) for line in stepped.stdout.splitlines()]
    assert [step['event']['name'] for step in steps] == ['recover', 'step', 'done']
    assert (stepped.exit_code, outcome['status']) == (4, 'paused')
    over = hemicycle('step', '--over')
    assert over.exit_code == 4 and 'in analyzing.thinking (stepped over at step' in over.stderr
    added = hemicycle('break', '--when', 'cost > 100', '--once')
    assert added.stdout.splitlines() == ['  1  enter reviewing', '  2  cost > 100 · once']
    refused = hemicycle('break', '--enter', 'reviewed')
    assert refused.exit_code == 2 and 'do you mean reviewing' in refused.stderr
    stopped = hemicycle('resume')
    assert stopped.exit_code == 4 and 'in reviewing.thinking (breakpoint 1 at step' in stopped.stderr
    assert hemicycle('break').stdout.splitlines()[0] == '  1  enter reviewing · hit once'
    assert 'stopped: breakpoint 1 at step' in hemicycle('show').stdout
    assert hemicycle('pause').exit_code == 2
    assert 'not both' in hemicycle('step', '--over', '--out').stderr
    assert hemicycle('break', '--remove', '7').exit_code == 2
    assert hemicycle('break', '--remove', 'all').stdout == ''
    assert hemicycle('resume', '--quiet').exit_code == 0
    ended = hemicycle('step')
    assert ended.exit_code == 2 and 'it is done' in ended.stderr
    assert hemicycle('audit').exit_code == 0

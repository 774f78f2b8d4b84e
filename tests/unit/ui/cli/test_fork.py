"""The command line forks, reruns and retries, and draws the fork tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Hemicycle, json_lines


def test_forks_and_reruns_are_shown_as_a_family(tmp_path: Path, done: Hemicycle) -> None:
    hemicycle = Hemicycle(tmp_path, like=done)
    prompt = tmp_path / 'kind.md'
    prompt.write_text('Be kind.', 'utf-8-sig')
    missing = hemicycle('fork', 'start', 'last', '--at', '4', '--prompt', 'reviewer=/no/such/file')
    assert missing.exit_code == 5 and '/no/such/file' in missing.stderr
    played = hemicycle(
        'fork', 'start', 'last', '--at', '4', '--play', 'recorded', '--quiet', '--title', 'the same'
    )
    assert played.exit_code == 0, played.stderr
    changed = hemicycle(
        'fork', 'start', 'last', '--at', '4', '--prompt', f'reviewer={prompt}',
        '--set-memory', '/memory/iteration=0', '--set', 'max_iterations=1', '--play', 'simulated', '--quiet',
    )  # fmt: skip
    assert changed.exit_code == 0, changed.stderr
    assert hemicycle('fork', 'rerun', 'last', '--quiet').exit_code == 0
    lines = hemicycle('fork', 'list', 'last').stdout.splitlines()
    assert ' the same ' in lines[1]  # and those that follow are named by what they change
    assert ['reviewer: other instructions' in line for line in lines] == [False, False, True, True]
    assert [line.startswith('  ') for line in lines] == [False, True, True, True]
    family = json_lines(hemicycle('fork', 'list', 'last', '--json').stdout)
    assert [run['kind'] for run in family] == ['root', 'fork', 'fork', 'rerun']
    assert all(run['status'] == 'done' for run in family)
    assert hemicycle('fork', 'choose', 'last').exit_code == 0
    [best] = [line for line in hemicycle('fork', 'list', 'last').stdout.splitlines() if 'winner' in line]
    assert 'this one' in best


def test_immediate_consequences_of_a_step_are_kept_and_mentioned(tmp_path: Path, done: Hemicycle) -> None:
    hemicycle = Hemicycle(tmp_path, like=done)
    forked = hemicycle('fork', 'start', 'last', '--at', '1', '--play', 'recorded', '--quiet')
    assert 'Step 2 is an immediate consequence of step 1 and is kept with it.' in forked.stderr
    forked = hemicycle('fork', 'start', 'last', '--at', '2', '--play', 'recorded', '--quiet')
    assert 'consequence' not in forked.stderr


VARIANTS = """
kinder: {instructions: {reviewer: Praise first.}, after: simulated}
one round: {parameters: {max_iterations: 1}, after: simulated}
"""


def test_several_variants_start_at_once(tmp_path: Path, done: Hemicycle) -> None:
    hemicycle = Hemicycle(tmp_path / 'home', like=done)
    parent = hemicycle.newest().id
    (tmp_path / 'variants.yaml').write_text(VARIANTS, 'utf-8-sig')
    started = hemicycle('fork', 'variants', 'last', str(tmp_path / 'variants.yaml'), '--at', '4', '--json')
    assert started.exit_code == 0, started.output
    started_forks = json_lines(started.stdout)
    assert [(one['status'], one['parent']) for one in started_forks] == [('done', parent)] * 2
    assert started_forks[0]['tags'] == started_forks[1]['tags'] != []
    assert [line.split('  ') for line in started.stderr.splitlines()] == [
        [started_forks[0]['id'], 'kinder'],
        [started_forks[1]['id'], 'one round'],
    ]
    paused = hemicycle(
        'fork', 'variants', parent, '-', '--at', '4', '--paused', stdin='{"a": {"after": "simulated"}}'
    )
    assert paused.exit_code == 4 and '  paused' in paused.stdout


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('[1', 'FILE: is neither YAML nor JSON'),
        ('- a', 'FILE: must name variants'),
        ('a: {colour: red}', 'a.colour: '),
        ('a: {after: backwards}', 'a.after: '),
        ('a: {tools: {poet: [calculator]}}', 'poet'),
    ],
)
def test_invalid_variants_start_nothing(done: Hemicycle, text: str, problem: str) -> None:
    before = done.newest()
    refused = done('fork', 'variants', 'last', '-', '--at', '4', stdin=text)
    assert refused.exit_code == 2 and problem in refused.stderr
    assert done.newest() == before

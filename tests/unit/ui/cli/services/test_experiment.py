"""hemicycle experiment and dataset: files, the shipped sample, exit codes, and reports for CI."""

from __future__ import annotations

import asyncio
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from engine.operations.experiments import Experiment, ScorerSpec, Variant
from engine.operations.experiments.records import State
from engine.operations.experiments.store import ExperimentStore
from engine.records import Launch
from storage import open_journal
from tests.support.cli import Hemicycle, json_lines

QUICK = """
name: Loaves
base: {pattern: pipeline, parameters: {max_iterations: 0}}
variants:
  - name: as it is
  - name: two
    change: {parameters: {max_iterations: 1}}
scorers:
  - {name: clean, kind: status, settings: {caveat: false}}
cases:
  - {id: tea, parameters: {task: Compare tea and coffee}}
"""
CHART = """\
chart: say
memory: {task: string, answer: string}
answer: answer
roles:
  writer: {instructions: Whisper.}
initial: writing
states:
  writing: {agent: writer, prompt: Say it, then: {set: {answer: text}}}
  done: {final: true}
transitions:
  - {on: done, from: writing, to: done}
"""
CHART_EXPERIMENT = """
name: Shouting
base: {pattern: say, stubs: {writer: [Hi]}}
variants:
  - name: as it is
  - name: loud
    change: {instructions: {writer: Shout.}}
  - name: other model
    change: {models: {writer: scripted}}
scorers:
  - {name: done, kind: status}
cases:
  - {id: one, parameters: {}}
"""


def test_the_sample_finds_the_better_variant_within_a_minute(hemicycle: Hemicycle, tmp_path: Path) -> None:
    report, began = tmp_path / 'report.xml', time.monotonic()
    options = ('--yes', '--pace', '0', '--fail-under', '0.5', '--junit', str(report))
    result = hemicycle('experiment', 'run', 'sample', *options)
    assert time.monotonic() - began < 60
    assert result.exit_code == 1, result.output  # The first variant is right in one of eight cases.
    assert '“stricter reviewer” is better than “as it is” by 0.88' in result.stdout
    assert '“stricter without revisions” and “as it is” scored the same' in result.stdout
    suites = {suite.get('name'): dict(suite.attrib) for suite in ET.parse(report).getroot()}
    assert suites['as it is'] | {'tests': '16', 'failures': '14'} == suites['as it is']
    assert suites['stricter without revisions']['failures'] == '0'
    again = hemicycle(
        'experiment', 'show', 'A stricter reviewer', '--fail-under', '0.9', '--variant', 'stricter reviewer'
    )
    assert again.exit_code == 0, again.output


def test_an_experiment_is_planned_run_read_and_removed(hemicycle: Hemicycle, tmp_path: Path) -> None:
    file = tmp_path / 'loaves.yaml'
    file.write_text(QUICK)
    planned = hemicycle('experiment', 'run', str(file), '--dry-run')
    assert planned.exit_code == 0 and '2 runs to make (1 case × 2 variants).' in planned.stderr
    assert hemicycle('experiment', 'list').stdout == 'there are no experiments\n'
    asked = hemicycle('experiment', 'run', str(file))  # As in CI, where nobody can be asked.
    assert asked.exit_code == 2 and 'confirm with --yes' in asked.stderr, '1 says that scores are too low'
    lines = json_lines(hemicycle('experiment', 'run', str(file), '--yes', '--pace', '0', '--json').stdout)
    assert {line['variant'] for line in lines[:2]} == {'as it is', 'two'} and 'comparisons' in lines[2]
    cell = lines[0]['id']
    assert hemicycle('experiment', 'mark', 'Loaves', cell, '--value', '1').exit_code == 0
    reused = hemicycle('experiment', 'run', str(file), '--dry-run', '--after', 'Loaves')
    assert '0 runs to make (1 case × 2 variants). 2 runs of the earlier' in reused.stderr
    assert hemicycle('experiment', 'pause', 'Loaves').exit_code == 2  # It is over.
    bundle = tmp_path / 'loaves.jsonl.gz'
    exported = hemicycle('experiment', 'export', 'Loaves', '-o', str(bundle))
    assert exported.stdout == f'{bundle}\n', exported.output
    (tmp_path / 'other').mkdir()
    other = Hemicycle(tmp_path / 'other')
    imported = other('runs', 'import', str(bundle))
    assert imported.stdout == (
        'Dataset "Loaves" imported\nExperiment "Loaves" imported\n2 runs imported\n'
    ), imported.output
    again = json_lines(other('runs', 'import', str(bundle), '--json').stdout)
    assert [(line['kind'], line['outcome']) for line in again] == [
        ('dataset', 'known'), ('experiment', 'known'), ('run', 'known'), ('run', 'known'),
    ]  # fmt: skip
    shown = ('experiment', 'show', 'Loaves')
    assert other(*shown).stdout == hemicycle(*shown).stdout
    assert hemicycle('experiment', 'remove', 'Loaves').exit_code == 0
    assert hemicycle('experiment', 'show', 'Loaves').exit_code == 2


def test_the_newest_of_a_name_is_scheduled_and_its_file_says_what_it_must_reach(
    hemicycle: Hemicycle, tmp_path: Path
) -> None:
    file = tmp_path / 'loaves.yaml'
    for limit, code in ((0, 0), (1, 1)):
        file.write_text(f'{QUICK}fail_under: {limit}\n')
        assert hemicycle('experiment', 'run', str(file), '--yes', '--pace', '0').exit_code == code
    schedule = ('schedule', 'add', 'nightly', '--cron', '0 3 * * *', '--experiment', 'Loaves', '--json')
    (added,) = json_lines(hemicycle(*schedule).stdout)
    assert (added['experiment']['fail_under'], added['experiment']['id']) == (1, '')


def test_of_several_of_a_name_the_newest_is_read_and_the_only_one_that_can_be_is_cancelled(
    hemicycle: Hemicycle,
) -> None:
    asyncio.run(store(hemicycle, first='done', second='paused', third='cancelled'))
    shown = hemicycle('experiment', 'show', 'Loaves')
    assert (shown.exit_code, 'third) is cancelled' in shown.stdout) == (3, True), shown.output
    assert shown.stderr == "3 experiments are called 'Loaves': this is the newest, third\n"
    refused = hemicycle('experiment', 'pause', 'Loaves')
    assert "experiment third does not accept 'pause' now: it is cancelled" in refused.stderr
    assert hemicycle('experiment', 'cancel', 'Loaves').exit_code == 0
    assert 'second  cancelled' in hemicycle('experiment', 'list').stdout
    asyncio.run(store(hemicycle, fourth='paused', fifth='paused'))
    for command, ids in (('cancel', 'fifth, fourth'), ('remove', 'third, second, first, fifth, fourth')):
        several = hemicycle('experiment', command, 'Loaves')
        assert several.exit_code == 2 and several.stderr.endswith(f'give the id: {ids}\n'), several.output


async def store(hemicycle: Hemicycle, **states: State) -> None:
    """Store experiments of one name, by id, each newer than the one before."""
    journal = await open_journal(hemicycle.database)
    for created, (id, state) in enumerate(states.items(), start=len(states)):
        experiment = Experiment(
            id=id,
            name='Loaves',
            dataset='loaves',
            base=Launch(pattern='pipeline'),
            variants=(Variant(name='as it is'),),
            scorers=(ScorerSpec(name='right', kind='contains'),),
            state=state,
            created=float(created),
        )
        await ExperimentStore(journal.documents).experiments.write([experiment])
    await journal.close()


@pytest.mark.parametrize(
    ('old', 'new', 'problem'),
    [
        ('name: as it is', 'nam: as it is', 'loaves.yaml:5: variants.0.nam: there is no such field'),
        ('kind: status', 'kind: staus', 'scorers.0.kind: there is no kind'),
        ('{id: tea,', '{', 'cases.0.id'),
        ('max_iterations: 1', 'max_iterations: many', 'cases.tea.max_iterations'),
        ('name: Loaves', 'name: [', 'is not YAML: did not find'),
        ('{task: Compare tea and coffee}', '&a {task: *a}', 'anchors and aliases'),
        ('pattern: pipeline', 'pattern: pipelin', "there is no pattern 'pipelin'"),
        ('pattern: pipeline', 'pattern: pipeline, models: {x: scripted}', 'models.x'),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(
    hemicycle: Hemicycle, tmp_path: Path, old: str, new: str, problem: str
) -> None:
    file = tmp_path / 'loaves.yaml'
    file.write_text(QUICK.replace(old, new, 1))
    result = hemicycle('experiment', 'run', str(file), '--yes')
    assert result.exit_code == 2 and problem in result.stderr, result.output


def test_a_dataset_comes_from_a_table_and_is_the_same_when_exported(
    hemicycle: Hemicycle, tmp_path: Path
) -> None:
    table, lines, wrong = tmp_path / 'sums.csv', tmp_path / 'sums.jsonl', tmp_path / 'wrong.csv'
    table.write_text('id,question,answer\none,What is 6 times 7?,42\ntwo,"What is 1, twice?",2\n')
    columns = ('--column', 'question=task', '--column', 'answer=expectation')
    assert hemicycle('dataset', 'import', str(table), *columns, '--pattern', 'pipeline').exit_code == 0
    assert '2 cases' in hemicycle('dataset', 'list').stdout
    assert hemicycle('dataset', 'export', 'sums', str(lines)).exit_code == 0
    assert hemicycle('dataset', 'import', str(lines), '--name', 'sums').stdout.endswith('in 1 version\n')
    assert 'What is 1, twice?' in hemicycle('dataset', 'show', 'sums').stdout
    wrong.write_text('id,max_iterations\none,many\n')
    result = hemicycle('dataset', 'import', str(wrong), '--pattern', 'pipeline')
    assert result.exit_code == 2 and 'row 2, max_iterations' in result.stderr
    assert hemicycle('dataset', 'remove', 'sums').exit_code == 0
    assert hemicycle('dataset', 'show', 'sums').exit_code == 2


def test_a_scorer_of_ones_own_comes_from_a_folder_of_patterns(hemicycle: Hemicycle, tmp_path: Path) -> None:
    own, file = tmp_path / 'own', tmp_path / 'loaves.yaml'
    own.mkdir()
    (own / 'mine.py').write_text(
        'from hemicycle import scorer\n\n@scorer\ndef tea(run, case):\n    return case.id == "tea"\n'
    )
    scorer = '{name: clean, kind: python, settings: {function: "mine:tea"}}'
    file.write_text(QUICK.replace('{name: clean, kind: status, settings: {caveat: false}}', scorer))
    run = ('experiment', 'run', str(file), '--yes', '--pace', '0')
    refused = hemicycle(*run)
    assert refused.exit_code == 2 and "there is no scorer 'mine:tea'" in refused.stderr
    result = hemicycle(*run, '--patterns', str(own))
    assert result.exit_code == 0 and 'as it is: clean 1 in 1 run' in result.stdout, result.output


def test_a_variant_becomes_a_version_of_its_chart_and_is_taken_back(
    hemicycle: Hemicycle, tmp_path: Path
) -> None:
    charts, file = hemicycle.home / 'charts', tmp_path / 'loaves.yaml'
    charts.mkdir(parents=True)
    chart = charts / 'say.chart.yaml'
    chart.write_text(CHART)
    file.write_text(CHART_EXPERIMENT)
    assert hemicycle('experiment', 'run', str(file), '--yes', '--pace', '0').exit_code == 0
    adopt = ('experiment', 'adopt', 'Shouting')
    refused = hemicycle(*adopt, 'other model', '--as', 'version')
    assert refused.exit_code == 2 and 'models: a chart does not say which model answers' in refused.stderr
    done = hemicycle(*adopt, 'loud', '--as', 'version', '--yes')
    assert '+  writer: {instructions: Shout.}' in done.stderr and 'instructions: Shout.' in chart.read_text()
    assert 'Variant “loud” of the experiment “Shouting”' in hemicycle('chart', 'versions', 'say').stdout
    assert hemicycle(*adopt, '--reset', '--as', 'version').exit_code == 0 and chart.read_text() == CHART
    assert hemicycle(*adopt, '--reset', '--as', 'version').exit_code == 2

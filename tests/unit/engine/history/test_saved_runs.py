"""Runs saved as tests: they pass offline, and report differences once the pattern has changed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from engine import LocalConductor, Status
from engine.journal import MemoryJournal
from engine.operations.experiments import ExperimentFile, read_experiment, scorers_of, to_values
from engine.operations.experiments.files.saved_test import saved_test as saved_test_of
from engine.patterns.pipeline.pattern import Pipeline
from tests.support.cli import Hemicycle
from tests.support.clocks import IdleClock
from tests.support.harness import FakeModel, catalog, complete_run, pipeline_reply, wait_for_state
from tests.unit.engine.history.test_fork_tools import Post, letters, send


class Hasty(Pipeline):
    """A pipeline that approves everything."""

    name = 'pipeline'

    def is_approved(self, memory, event):
        return True


def expecting(test: ExperimentFile, *, answer: Any, **way: Any) -> ExperimentFile:
    """Return a test of a run that is done, with other expectations."""
    scorers = scorers_of(Status.DONE, way, answer)
    case = replace(test.cases[0], expectation=answer)
    return replace(test, experiment=replace(test.experiment, scorers=scorers), cases=(case,))


async def test_a_saved_run_passes_without_calls_and_detects_changes() -> None:
    model = FakeModel(pipeline_reply)
    async with LocalConductor(MemoryJournal(), catalog=catalog(model), clock=IdleClock()) as conductor:
        run = await complete_run(conductor, 'pipeline', {'task': 'Count the bees'})
        test, steps = await conductor.save_test(run), await conductor.transitions(run)
    request_count = len(model.requests)
    async with LocalConductor(MemoryJournal(), catalog=catalog(model), clock=IdleClock()) as conductor:
        (result,) = (await conductor.check(test)).runs
        assert result.passed and not result.parted and result.steps == len(steps)
        strict = expecting(
            test,
            answer='something else',
            tokens=1,
            not_visited=['reviewing.thinking'],
            visits={'reviewing.thinking': 1},
        )
        (missed,) = (await conductor.check(strict)).runs
        assert {miss.what for miss in missed.misses} == {'tokens', 'not_visited', 'answer', 'visits'}
        assert all(miss.step for miss in missed.misses if miss.what != 'tokens')
        conductor.catalog.patterns['pipeline'] = Hasty
        (other,) = (await conductor.check(test)).runs
        assert other.parted and other.steps < len(steps)
        assert (await conductor.runs()).total == 0
    assert len(model.requests) == request_count


async def test_a_run_that_goes_on_is_saved_with_what_it_has_done_so_far() -> None:
    async with LocalConductor(MemoryJournal(), catalog=catalog(FakeModel(pipeline_reply))) as conductor:
        run = await complete_run(conductor, 'pipeline', {'task': 'Count the bees'})
        info, shape, view, steps = (
            await conductor.info(run),
            await conductor.shape(run),
            await conductor.view(run, 4),
            await conductor.transitions(run),
        )
    test = saved_test_of(info, shape, view, steps[:4])
    assert view.status is Status.RUNNING
    assert [spec.kind for spec in test.experiment.scorers] == ['path']
    async with LocalConductor(MemoryJournal(), catalog=catalog(FakeModel(pipeline_reply))) as conductor:
        assert (await conductor.check(test)).passed


def test_the_command_line_saves_checks_and_reports(tmp_path: Path, done: Hemicycle) -> None:
    file, report = tmp_path / 'tea.yaml', tmp_path / 'report.xml'
    assert done('test', 'save', 'last', str(file)).exit_code == 0
    passed = done('test', 'check', str(file), '--json')
    assert passed.exit_code == 0 and json.loads(passed.stdout)['passed'], passed.stderr
    text = file.read_text('utf-8')
    assert text.count('\n    - done\n') == 1
    file.write_text(text.replace('\n    - done\n', '\n    - failed\n'), 'utf-8')
    failed = done('test', 'check', str(file), '--junit', str(report))
    assert failed.exit_code == 1 and 'status at step' in failed.stdout
    assert 'failures="1"' in report.read_text('utf-8')
    file.write_text(text.replace('\n    any_end: true\n', '\n    color: red\n', 1), 'utf-8')
    refused = done('test', 'check', str(file))
    assert refused.exit_code == 2 and 'settings.color' in refused.stderr


def test_a_saved_test_is_an_experiment_whose_recording_is_stored_once(tmp_path: Path) -> None:
    hemicycle, file, report = Hemicycle(tmp_path), tmp_path / 'tea.yaml', tmp_path / 'report.xml'
    assert hemicycle('run', 'pipeline', '--task', 'Compare tea and coffee', '--quiet').exit_code == 0
    assert hemicycle('test', 'save', 'last', str(file)).exit_code == 0
    for _ in range(2):
        ran = hemicycle('experiment', 'run', str(file), '--yes', '--fail-under', '1', '--junit', str(report))
        assert ran.exit_code == 0 and 'status 1, way 1, answer 1 in 1 run' in ran.stdout, ran.stderr
        assert 'errors="0"' in report.read_text('utf-8')
    listed = hemicycle('runs', 'list', '--json', '--tag', 'recording').stdout.splitlines()
    (recording,) = map(json.loads, listed)
    assert recording['status'] == 'done' and recording['seq'] == 22


async def test_a_waiting_run_with_files_can_be_saved_as_a_test(tmp_path: Path) -> None:
    own_catalog = catalog(FakeModel(letters), Post, tools=(send,))
    async with LocalConductor(MemoryJournal(), catalog=own_catalog, clock=IdleClock()) as conductor:
        run = (await conductor.start('post', approvals='all')).id
        await wait_for_state(conductor, run, 'writing.approving')
        await conductor.send(run, 'approve')
        await wait_for_state(conductor, run, 'writing.approving')
        file = tmp_path / 'waiting.yaml'
        file.write_text(yaml.safe_dump(to_values(await conductor.save_test(run))), 'utf-8')
        test = read_experiment(file)
        assert test.experiment.scorers[0].settings == {'status': ['waiting']}
        assert test.experiment.base.approvals == 'all'
    async with LocalConductor(MemoryJournal(), catalog=own_catalog, clock=IdleClock()) as conductor:
        result = await asyncio.wait_for(conductor.check(test), 30)
        assert result.passed and not result.runs[0].misses

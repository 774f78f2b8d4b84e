"""Recorded journals replay: they fold to their recorded end, and a fresh chart makes the same decisions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from engine import Catalog, LocalConductor, Transition
from engine.errors import Diverged
from engine.history.audit import audit
from engine.journal import Fold, fold
from engine.models.scripted.library import scenarios
from engine.records import RunId
from tests.support.clocks import IdleClock
from tests.support.harness import sample_parameters, to_the_end

FOLDER = Path(__file__).parent / 'journals'
STEPS: TypeAdapter[list[Transition]] = TypeAdapter(list[Transition])
CATALOG = Catalog.load()
GOLDEN = RunId('golden')


def samples() -> list[Any]:
    return [
        pytest.param(name, sample, id=sample.name) for name in CATALOG.patterns for sample in scenarios(name)
    ]


async def record(pattern: str, sample: Any) -> dict[str, Any]:
    """Play a scenario and return its journal; times are simulated and ids removed."""
    pattern_class = CATALOG.pattern(pattern)
    parameters = pattern_class.parse({**sample_parameters(pattern_class), **sample.parameters}).model_dump(
        mode='json'
    )
    async with LocalConductor(catalog=CATALOG, clock=IdleClock()) as conductor:
        run = (await conductor.start(pattern, parameters)).id
        outcome = await to_the_end(conductor, run)
        steps = [
            replace(step, run=GOLDEN, time=round(step.time, 3)) for step in await conductor.transitions(run)
        ]
    document = {
        'pattern': pattern,
        'parameters': parameters,
        'status': outcome.status,
        'error': outcome.error,
    }
    return {**document, 'memory': outcome.memory, 'steps': to_jsonable_python(steps)}


def write(path: Path, document: dict[str, Any]) -> None:
    """Write one line per step, so that a diff shows which steps changed."""
    head = json.dumps(
        {key: value for key, value in document.items() if key != 'steps'}, indent=1, ensure_ascii=False
    )
    lines = ',\n'.join(json.dumps(step, ensure_ascii=False) for step in document['steps'])
    path.write_text(f'{head[:-2]},\n "steps": [\n{lines}\n]}}\n', 'utf-8')


@pytest.mark.parametrize(('pattern', 'sample'), samples())
async def test_a_recorded_journal_still_replays(
    pattern: str, sample: Any, request: pytest.FixtureRequest
) -> None:
    path = FOLDER / f'{sample.name}.json'
    if request.config.getoption('--regenerate', default=False):
        write(path, await record(pattern, sample))
    assert path.exists(), (
        f'there is no journal of this scenario: run pytest {Path(__file__).parent.name} --regenerate'
    )
    document = json.loads(path.read_text('utf-8'))
    steps = STEPS.validate_python(document['steps'])
    pattern_class = CATALOG.pattern(document['pattern'])
    workflow = pattern_class(pattern_class.parse(document['parameters']))
    shape = CATALOG.draw(document['pattern'], document['parameters'])
    view = fold(GOLDEN, shape, steps)
    assert (view.status, view.error, view.memory) == (
        document['status'],
        document['error'],
        document['memory'],
    )
    assert audit(GOLDEN, workflow, steps) == len(steps)
    half = Fold(GOLDEN, shape).apply_all(steps[: len(steps) // 2])
    resumed = Fold.load(half.snapshot(), shape).apply_all(steps[len(steps) // 2 :])
    assert resumed.view == view


def test_there_is_one_journal_per_scenario() -> None:
    names = {sample.name for name in CATALOG.patterns for sample in scenarios(name)}
    assert {path.stem for path in FOLDER.glob('*.json')} == names


@pytest.mark.parametrize('path', sorted(FOLDER.glob('*.json')), ids=lambda path: path.stem)
def test_tampering_with_a_journal_is_detected(path: Path) -> None:
    document = json.loads(path.read_text('utf-8'))
    pattern = CATALOG.pattern(document['pattern'])
    workflow = pattern(pattern.parse(document['parameters']))
    steps = STEPS.validate_python(document['steps'])
    changed = max(index for index, step in enumerate(steps) if step.changes)
    other = replace(steps[changed].changes[0], value='another')
    steps[changed] = replace(steps[changed], changes=(other, *steps[changed].changes[1:]))
    with pytest.raises(Diverged) as raised:
        audit(GOLDEN, workflow, steps)
    assert raised.value.step == steps[changed].seq and 'changes' in str(raised.value)

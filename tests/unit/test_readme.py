"""What the README shows, works: its Python is run as it stands there."""

import re

import pytest

from engine import Catalog, Conductor, Pattern, Status
from tests.tree import ROOT

README = (ROOT / 'README.md').read_text('utf-8')
BLOCKS = re.findall(r'```python\n(.*?)```', README, flags=re.DOTALL)


def defined(block: str) -> type[Pattern]:
    names: dict[str, object] = {'__name__': 'readme'}
    exec(compile(block, 'README.md', 'exec'), names)
    found = [value for value in names.values() if isinstance(value, type) and value.__module__ == 'readme']
    return next(value for value in found if issubclass(value, Pattern))


def test_the_program_prints_every_step_and_the_outcome(capsys, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    program = next(block for block in BLOCKS if 'asyncio.run' in block)
    exec(compile(program, 'README.md', 'exec'), {'__name__': 'readme'})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('1 start')
    assert any(line.startswith('done ') for line in lines)


@pytest.mark.parametrize('name', ['debate', 'checked-pipeline', 'newsroom'])
async def test_each_pattern_runs_to_its_end(name, monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    pattern = next(
        made for block in BLOCKS if 'class ' in block for made in [defined(block)] if made.name == name
    )
    catalog = Catalog.load()
    catalog.add(pattern)
    async with Conductor(catalog=catalog) as conductor:
        parameters = {'checked-pipeline': {'task': 'Compare two tools'}, 'newsroom': {'objective': 'A paper'}}
        run = await conductor.start(name, parameters.get(name, {}))
        outcome = await conductor.result(run)
        assert outcome.status is Status.DONE, outcome.error
        assert outcome.answer
        if name == 'checked-pipeline':
            kinds = [message['kind'] for message in outcome.memory['messages']]
            assert 'check' in kinds
        assert await conductor.audit(run) > 0


def test_every_pattern_and_decision_is_named():
    for name in Catalog.load().patterns:
        assert name in README
    for record in (ROOT / 'assets' / 'decisions').glob('*.md'):
        assert f'assets/decisions/{record.name}' in README

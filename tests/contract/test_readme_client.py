"""The README's Python client runs unchanged against a server."""

from __future__ import annotations

import re

import pytest

from engine import Conductor
from tests.contract.test_facade import here, model, served  # noqa: F401  (fixtures)
from tests.tree import ROOT


async def test_the_client_runs_as_the_readme_shows(here: Conductor, capsys: pytest.CaptureFixture[str]):  # noqa: F811
    readme = (ROOT / 'README.md').read_text('utf-8')
    block = next(
        one for one in re.findall(r'```python\n(.*?)```', readme, re.DOTALL) if 'HttpConductor' in one
    )
    names: dict[str, object] = {'__name__': 'readme'}
    exec(compile(block.replace('hemicycle.ui', 'ui'), 'README.md', 'exec'), names)
    async with served(here) as url:
        await names['run_there'](url)  # type: ignore[operator]
    printed = capsys.readouterr().out
    assert 'Transition(' in printed and 'Outcome(' in printed

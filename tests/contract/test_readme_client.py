"""The README's Python client runs unchanged against a server."""

from __future__ import annotations

import re

import pytest

from tests.tree import ROOT


async def test_the_client_runs_as_the_readme_shows(url: str, capsys: pytest.CaptureFixture[str]):
    readme = (ROOT / 'README.md').read_text('utf-8')
    block = next(
        item for item in re.findall(r'```python\n(.*?)```', readme, re.DOTALL) if 'HttpConductor' in item
    )
    names: dict[str, object] = {'__name__': 'readme'}
    exec(compile(block.replace('hemicycle.ui', 'ui'), 'README.md', 'exec'), names)
    await names['run_there'](url)  # type: ignore[operator]
    printed = capsys.readouterr().out
    assert 'Transition(' in printed and 'RunResult(' in printed

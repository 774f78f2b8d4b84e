"""The README's program runs in a server once its conductor is replaced, and is otherwise unchanged."""

from __future__ import annotations

import re

import pytest

from tests.tree import ROOT


async def test_the_program_runs_in_a_server_as_the_readme_says(url: str, capsys: pytest.CaptureFixture[str]):
    readme = (ROOT / 'README.md').read_text('utf-8')
    here, there, module = re.findall(r'replace\n?\s*`(.+?)` by `(.+?)` of `hemicycle\.(.+?)`', readme)[0]
    (block,) = (item for item in re.findall(r'```python\n(.*?)```', readme, re.DOTALL) if here in item)
    names: dict[str, object] = {'__name__': 'readme', 'url': url}
    exec(f'from {module} import {there.partition("(")[0]}', names)
    exec(compile(block.replace(here, there).replace('asyncio.run(main())', ''), 'README.md', 'exec'), names)
    await names['main']()  # type: ignore[operator]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('1 start')
    assert any(line.startswith('done ') for line in lines)

"""Projects whose dependencies are installed by their own tools before their tests run."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.records import Status
from engine.workspace import Sandbox
from tests.processes.sandbox.test_setups import HATCH, PROJECT, SETUPTOOLS, TEST, TOTAL, write
from tests.processes.test_project_tests import OVER, RUN, work

NEEDS = 'from importlib.metadata import version\n\nimport iniconfig\nfrom shopkit import total\n\n\n'
NEEDS += 'def test_total():\n    assert total([1, 2]) == 3 and version("shopkit") == "1.0"\n'
NEEDED = 'dependencies = ["iniconfig"]\n'
GROUP = '[dependency-groups]\ntest = [{ include-group = "base" }]\nbase = ["iniconfig"]\n'
POETRY = """[build-system]
requires = ["poetry-core"]
build-backend = "poetry.core.masonry.api"
[tool.poetry]
name = "shopkit"
version = "1.0"
description = ""
authors = []
packages = [{ include = "shopkit", from = "src" }]
[tool.poetry.dependencies]
python = "^3.10"
[tool.poetry.group.dev.dependencies]
iniconfig = "^2.0"
"""

INSTALLS = {
    'requirements and a package': {
        'requirements.txt': 'iniconfig\n',
        'pyproject.toml': f'{SETUPTOOLS}{PROJECT}[tool.setuptools.packages.find]\nwhere = ["src"]\n',
    },
    'extras': {
        'pyproject.toml': f'{HATCH}{PROJECT}[project.optional-dependencies]\ntest = ["iniconfig"]\n',
    },
    'a dependency group': {'pyproject.toml': f'{HATCH}{PROJECT}{GROUP}'},
    'tox': {'pyproject.toml': HATCH + PROJECT, 'tox.ini': '[testenv]\ndeps =\n    iniconfig\n    pytest\n'},
    'nox': {
        'pyproject.toml': HATCH + PROJECT,
        'noxfile.py': 'import nox\n\n@nox.session\ndef tests(session):\n'
        '    session.install("iniconfig", ".")\n    session.run("pytest")\n',
    },
    'uv': {
        'pyproject.toml': f'{HATCH}{PROJECT}requires-python = ">=3.10"\n{GROUP}',
        'uv.lock': 'version = 1\nrequires-python = ">=3.10"\n',
    },
    'poetry': {'pyproject.toml': POETRY},
    'pdm': {
        'pyproject.toml': '[build-system]\nrequires = ["pdm-backend"]\nbuild-backend = "pdm.backend"\n'
        f'{PROJECT}requires-python = ">=3.10"\n{NEEDED}[tool.pdm]\ndistribution = true\n',
    },
}


@pytest.mark.long
@pytest.mark.parametrize('name', INSTALLS)
async def test_a_project_is_installed_as_its_users_do(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    files = {'src/shopkit/__init__.py': TOTAL, 'tests/test_total.py': TEST, 'tests/test_needs.py': NEEDS}
    project = write(tmp_path, files | INSTALLS[name])
    outcome = await work('builder', project, RUN, OVER, OVER, OVER, OVER, install=True)
    assert outcome.status is Status.DONE, f'{outcome.error}\n{outcome.memory["messages"]}'

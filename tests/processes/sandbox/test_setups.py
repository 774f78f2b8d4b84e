"""Projects as their users set them up: their tests run in a copy, as in builder and debugger."""

from __future__ import annotations

import json
import venv
from pathlib import Path

import pytest

from engine.records import RunId, Status
from engine.workspace import Sandbox, SuiteResult, Workspaces
from engine.workspace.project import copy_project
from engine.workspace.testing.detection import current_setup
from engine.workspace.testing.test_run import run_test_suite
from engine.workspace.testing.tools import toolchain
from tests.processes.test_project_tests import OVER, RUN, work
from tests.support.harness import calls

TOTAL = 'def total(prices):\n    return sum(prices)\n'
TEST = 'from shopkit import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n'
SETUPTOOLS = '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
PROJECT = '[project]\nname = "shopkit"\nversion = "1.0"\n'
HATCH = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
NODE = json.dumps({'name': 'a', 'scripts': {'test': 'node --test'}})
NODE_TEST = 'require("node:test")("adds", () => require("node:assert").equal(1 + 1, 2))\n'
CRATE = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'
CRATE_TEST = '#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n'
MODULE_TEST = 'package shop\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {}\n'
MEMBER = f'{HATCH}[project]\nname = "{{0}}"\nversion = "1.0"\n'

SETUPS: dict[str, tuple[str, int, dict[str, str]]] = {
    'setuptools': ('', 1, {
        'pyproject.toml': f'{SETUPTOOLS}{PROJECT}[tool.setuptools.packages.find]\nwhere = ["src"]\n',
        'src/shopkit/__init__.py': TOTAL, 'tests/test_total.py': TEST,
    }),
    'setup.py': ('', 1, {
        'setup.py': 'from setuptools import setup\nsetup(name="shopkit", package_dir={"": "lib"})\n',
        'lib/shopkit.py': TOTAL, 'tests/test_total.py': TEST,
    }),
    'setup.cfg': ('', 1, {
        'setup.cfg': '[metadata]\nname = shopkit\n[options]\npackage_dir =\n    = source\n',
        'source/shopkit/__init__.py': TOTAL, 'tests/test_total.py': TEST, 'requirements.txt': 'flask\n',
    }),
    'hatchling': ('', 1, {
        'pyproject.toml': HATCH + PROJECT
                          + '[tool.hatch.build.targets.wheel]\npackages = ["python/shopkit"]\n',
        'python/shopkit/__init__.py': TOTAL, 'tests/test_total.py': TEST,
    }),
    'poetry': ('', 1, {
        'pyproject.toml': '[tool.poetry]\nname = "shopkit"\n'
                          'packages = [{ include = "shopkit", from = "code" }]\n',
        'code/shopkit/__init__.py': TOTAL, 'tests/test_total.py': TEST,
    }),
    'flat with tox': ('', 1, {
        'tox.ini': '[testenv]\ndeps = pytest\ncommands = pytest\n',
        'shopkit/__init__.py': TOTAL, 'tests/test_total.py': TEST,
    }),
    'uv workspace': ('', 2, {
        'pyproject.toml': f'{PROJECT}[tool.uv.workspace]\nmembers = ["packages/*"]\n', 'uv.lock': '',
        'packages/shop/pyproject.toml': MEMBER.format('shopkit'),
        'packages/shop/src/shopkit/__init__.py': TOTAL, 'packages/shop/tests/test_it.py': TEST,
        'packages/cart/pyproject.toml': MEMBER.format('cart'),
        'packages/cart/src/cart/__init__.py': 'from shopkit import total\n',
        'packages/cart/tests/test_it.py': TEST.replace('shopkit', 'cart'),
    }),
    'backend and frontend': ('', 1, {
        'backend/requirements.txt': 'flask\n', 'backend/shopkit/__init__.py': TOTAL,
        'backend/tests/test_total.py': TEST, 'frontend/package.json': '{}',
    }),
    'npm with a script in Python': ('npm', 1, {
        'package.json': NODE, 'a.test.js': NODE_TEST, 'scripts/test_release.py': 'import missing\n',
    }),
    'npm workspaces': ('npm', 2, {
        'package.json': json.dumps({'workspaces': ['packages/*']}),
        'packages/a/package.json': NODE, 'packages/a/a.test.js': NODE_TEST,
        'packages/b/package.json': NODE.replace('"a"', '"b"'), 'packages/b/b.test.js': NODE_TEST,
        'packages/c/package.json': '{"name": "c"}',
    }),
    'pnpm workspaces': ('npm', 2, {
        'package.json': '{"private": true}', 'pnpm-workspace.yaml': 'packages:\n  - packages/*\n',
        'packages/a/package.json': NODE, 'packages/a/a.test.js': NODE_TEST,
        'packages/b/package.json': NODE, 'packages/b/b.test.js': NODE_TEST,
    }),
    'cargo workspace': ('cargo', 2, {
        'Cargo.toml': '[workspace]\nmembers = ["a", "b"]\nresolver = "2"\n',
        'a/Cargo.toml': CRATE.format('a'), 'a/src/lib.rs': CRATE_TEST,
        'b/Cargo.toml': CRATE.format('b'), 'b/src/lib.rs': CRATE_TEST,
    }),
    'go workspace': ('go', 1, {
        'go.work': 'go 1.21\n\nuse (\n\t./a\n)\n', 'a/go.mod': 'module shop\n\ngo 1.21\n',
        'a/shop_test.go': MODULE_TEST,
    }),
    'make': ('make', 1, {
        'Makefile': 'test: all\n\t@echo "1 passed, 0 failed"\nall:\n\ttrue\n',
        'tools/test_gen.py': 'import missing\n',
    }),
    'api and web': ('npm', 2, {
        'api/package.json': NODE, 'api/a.test.js': NODE_TEST,
        'web/package.json': NODE, 'web/b.test.js': NODE_TEST,
    }),
}  # fmt: skip


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


async def run(project: Path, sandbox: Sandbox) -> SuiteResult:
    """The result of a project's tests in a copy of it."""
    workspaces = Workspaces()
    try:
        copy = workspaces.of(RunId('run'), 'agent')
        await copy_project(str(project), copy)
        setup = await current_setup(str(project), copy)
        return await run_test_suite(copy, sandbox, command=setup.command, setup=setup)
    finally:
        await workspaces.close()


@pytest.mark.parametrize('name', SETUPS)
async def test_the_tests_of_usual_setups_run(sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    tool, tests, files = SETUPS[name]
    if tool and (problem := toolchain(tool).obstacle):
        pytest.skip(problem)
    tested = await run(write(tmp_path, files), sandbox)
    assert tested.passed and tested.report is not None, tested.output + tested.text
    assert tested.report.passed == tests


async def test_an_environment_with_editable_packages_leads_to_the_copy(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    project = write(tmp_path / 'project', SETUPS['setuptools'][2])
    extra = (
        'import rare, shopkit\n\n\ndef test_it():\n    assert shopkit.__file__.startswith("/workspace/")\n'
    )
    write(project, {'tests/test_extra.py': extra})
    venv.create(project / '.venv', symlinks=True)
    packages = next((project / '.venv').glob('lib/python*/site-packages'))
    write(packages, {'rare.pth': 'inner\n', 'inner/rare.py': '', 'editable.pth': f'{project}/src\n'})
    tested = await run(project, sandbox)
    assert tested.report is not None and tested.report.passed == 2, tested.text


async def test_builder_and_its_commands_import_from_a_src_layout(sandbox: Sandbox, tmp_path: Path) -> None:
    seen: list[str] = []
    project = write(tmp_path, SETUPS['setuptools'][2])
    command = calls(
        ('run_command', {'command': 'cd tests && python -c "import shopkit; print(shopkit.__file__)"'})
    )
    outcome = await work('builder', project, command, RUN, OVER, seen=seen)
    assert outcome.status is Status.DONE, outcome.error
    assert seen[0].startswith('/workspace/src/shopkit/__init__.py'), seen[0]


async def test_what_an_import_lacks_is_in_the_reason_of_a_failed_run(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    project = write(tmp_path, {'test_a.py': 'import rarest\n\n\ndef test_a():\n    pass\n'})
    outcome = await work('builder', project, RUN, OVER, OVER, OVER, OVER)
    assert outcome.status is Status.FAILED
    assert "without failures (the last run: ModuleNotFoundError: No module named 'rarest')" in outcome.error

"""Builds the wheel: our packages and assets in one package, `hemicycle`, with their imports rewritten."""

from __future__ import annotations

import ast
import shutil
import tomllib
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = 'hemicycle'
INIT = f'''"""Hemicycle: the API to write and run workflows. More is in `{NAME}.engine`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from {NAME}.engine import *
    from {NAME}.engine import __all__ as __all__


def __getattr__(name: str) -> Any:  # `{NAME} --help` need not wait for the engine
    return getattr(import_module('{NAME}.engine'), name)
'''
MAIN = f'''"""The `{NAME}` command, as `python -m {NAME}`."""

from {NAME}.ui.__main__ import main

main()
'''


class WheelHook(BuildHookInterface[Any]):
    """Builds a wheel from a temporary folder; an editable one needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Create and fill the folder."""
        if version == 'editable':
            return
        self._folder = TemporaryDirectory(prefix=f'{NAME}-wheel-')
        place, root = Path(self._folder.name), Path(self.root)
        project = tomllib.loads((root / 'pyproject.toml').read_text('utf-8'))
        packages = project['tool']['importlinter']['root_packages']
        for package in packages:
            shutil.copytree(root / package, place / package, ignore=shutil.ignore_patterns('__pycache__'))
        for path in place.rglob('*.py'):
            path.write_text(rewrite(path.read_text('utf-8'), packages), 'utf-8')
        for assets in self.config['assets']:
            shutil.copytree(root / assets, place / assets, ignore=shutil.ignore_patterns('__pycache__'))
        (place / '__init__.py').write_text(INIT, 'utf-8')
        (place / '__main__.py').write_text(MAIN, 'utf-8')
        (place / 'py.typed').touch()
        build_data['force_include'][str(place)] = NAME

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version != 'editable':
            self._folder.cleanup()


def rewrite(source: str, packages: Collection[str]) -> str:
    """Return a module's source with imports of `packages` made from within `hemicycle`, on the same lines.

    Raises:
        ValueError: For `import engine.x`, which would bind another name.
    """
    lines = source.encode().split(b'\n')  # the columns of nodes count bytes
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any(_top(alias.name) in packages for alias in names):
                raise ValueError(f'line {node.lineno}: write `from ... import` instead of `import`')
            case ast.ImportFrom(module=str(module), level=0) if _top(module) in packages:
                line, start = lines[node.lineno - 1], node.col_offset + len('from ')
                lines[node.lineno - 1] = line[:start] + f'{NAME}.'.encode() + line[start:]
    return b'\n'.join(lines).decode()


def _top(module: str) -> str:
    return module.partition('.')[0]

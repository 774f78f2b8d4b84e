"""`hemicycle` in a checkout: the engine's exports, and our packages under their names in a wheel."""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine import *  # noqa: F403
    from engine import __all__ as __all__

ROOT = Path(__file__).resolve().parents[3]


class _Aliases(MetaPathFinder, Loader):
    """Finds `hemicycle.engine.errors` as `engine.errors`: one module under two names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        outer, _, inner = name.partition('.')
        found = outer == 'hemicycle' and (ROOT / inner.partition('.')[0] / '__init__.py').is_file()
        return ModuleSpec(name, self) if found else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.name.partition('.')[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        alias = module.__spec__
        module.__spec__ = alias.loader_state if alias else None


def __getattr__(name: str) -> Any:  # `hemicycle --help` need not wait for the engine
    return getattr(importlib.import_module('engine'), name)


sys.meta_path.insert(0, _Aliases())

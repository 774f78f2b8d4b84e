"""Finds patterns, models and tools: one file, one entry; a faulty file is reported, the others load."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import traceback
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from engine.errors import EngineError, PatternError, UnknownPattern
from engine.mcp.servers import Servers
from engine.model import Model
from engine.pattern import Pattern
from engine.plain import said
from engine.tool import Tool
from engine.wire.endpoints import Configured, configured
from engine.wire.offer import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A file that could not be loaded."""

    path: str
    line: int
    problem: str


@dataclass(slots=True, kw_only=True)
class Catalog:
    """What there is to run, by name."""

    patterns: dict[str, type[Pattern]] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    configured: Configured = field(default_factory=Configured)
    offer: Offer = field(init=False)
    """All models by name, those behind endpoints among them."""
    mcp: Servers = field(init=False)
    """MCP servers; their tools are in `tools` as soon as they have been looked at."""

    def __post_init__(self) -> None:
        self.offer = Offer(self.models, self.configured)
        self.mcp = Servers(self.configured.servers, self.tools, self.configured.missing_servers)

    @classmethod
    def load(cls, folders: Sequence[Path] = (), endpoints: Path | None = None) -> Catalog:
        """What there is to run.

        Args:
            folders: where the user's own patterns and tools are, in `.py` files.
            endpoints: the file that configures them; without it there are none.
        """
        catalog = cls()
        if endpoints is not None:
            try:
                catalog = cls(configured=configured(endpoints, os.environ))
            except EngineError as error:
                catalog.faults.append(Fault(path=str(endpoints), line=0, problem=said(error)))
        for name in ('patterns', 'models', 'tools'):
            package = importlib.import_module(f'engine.{name}')
            for found in pkgutil.iter_modules(package.__path__):
                catalog._load(Path(package.__path__[0], f'{found.name}.py'), f'engine.{name}.{found.name}')
        for folder in folders:
            if not folder.is_dir():
                catalog.faults.append(Fault(path=str(folder), line=0, problem='there is no such folder'))
            for path in sorted(folder.glob('*.py')):
                catalog._load(path, '')
        return catalog

    async def close(self) -> None:
        """Close all connections; they are opened again when they are needed."""
        await asyncio.gather(self.offer.close(), self.mcp.close())

    def pattern(self, name: str) -> type[Pattern]:
        """The pattern of that name. Raises `UnknownPattern`."""
        if name not in self.patterns:
            raise UnknownPattern(name, tuple(sorted(self.patterns)))
        return self.patterns[name]

    def add(self, pattern: type[Pattern]) -> None:
        """Take one pattern in. Raises `PatternError` where its name is taken."""
        known = self.patterns.get(pattern.name)
        if known is not None and known is not pattern:
            raise PatternError(pattern.name, f'{known.__module__} has a pattern of this name already')
        self.patterns[pattern.name] = pattern

    def _load(self, path: Path, module: str) -> None:
        try:
            loaded = importlib.import_module(module) if module else _execute(path)
            for entry in _entries(loaded):
                if isinstance(entry, Tool):
                    self._add('tool', self.tools, entry.name, entry)
                elif issubclass(entry, Pattern):
                    self.add(entry)
                else:
                    model: Any = entry()
                    self._add('model', self.models, model.name, model)
                    self.faults.extend(getattr(model, 'faults', ()))
        except KeyboardInterrupt:
            raise
        except (
            BaseException
        ) as error:  # Whatever a user's file does, `sys.exit()` for one, the others must load.
            self.faults.append(_fault(path, error))

    def _add(self, kind: str, entries: dict[str, Any], name: str, entry: Any) -> None:
        if entries.setdefault(name, entry) is not entry:
            raise EngineError(f'there is a {kind} {name!r} already')


def _execute(path: Path) -> ModuleType:
    name = f'hemicycle_{zlib.crc32(str(path.parent).encode()):08x}_{path.stem}'
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise EngineError(f'{path} cannot be loaded')
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Where dataclasses and pydantic look up the names in annotations.
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _entries(module: ModuleType) -> Iterator[Tool | type]:
    for value in vars(module).values():
        if isinstance(value, Tool):
            yield value
        elif inspect.isclass(value) and value.__module__ == module.__name__:
            is_model = hasattr(value, 'stream') and hasattr(value, 'simulated') and hasattr(value, 'name')
            if is_model or (issubclass(value, Pattern) and value.states):
                yield value


def _fault(path: Path, error: BaseException) -> Fault:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return Fault(path=str(path), line=error.lineno or 0, problem=f'{type(error).__name__}: {error.msg}')
    lines = [
        frame.lineno or 0
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return Fault(path=str(path), line=lines[-1] if lines else 0, problem=said(error))

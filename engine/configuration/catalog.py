"""Catalog: finds patterns, models and tools; reports faulty files and loads the others."""

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from engine.configuration import Configuration, load_configuration
from engine.configuration.code_version import code_version
from engine.errors import EngineError, Fault, PatternError, UnknownPattern, UnknownVersion
from engine.models.protocol import Model
from engine.models.registry import ModelRegistry
from engine.records.jsonable import describe_error
from engine.records.shape import TRACE_PREFIX, Shape
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import build_shape
from engine.tools.acp import ExternalAgents
from engine.tools.mcp.servers import McpServers
from engine.tools.protocol import Tool

PLUGIN_PACKAGES = ('..patterns', '..models.scripted', '..tools.builtin')
"""Packages whose modules hold the built-in patterns, models and tools; relative, since `engine` is
`hemicycle.engine` in a wheel."""
TRACE_REASON = (
    'this run was imported from a trace that another program recorded: it can be viewed and compared,'
    ' but no pattern here can run it'
)


class Versioned(Protocol):
    """What was started with a version of a pattern: a run, or a question of one."""

    @property
    def pattern(self) -> str:
        """The name of the pattern."""

    @property
    def version(self) -> str:
        """Its version; '' is any."""


class Charts(Protocol):
    """The versions of patterns that are chart files."""

    def has(self, name: str) -> bool:
        """Whether there is a chart of this name, or was."""

    def find(self, name: str, version: str) -> type[Pattern] | None:
        """Return a version of a chart, None if it is not there. Raises `UnknownVersion`: it is of no use."""

    def number(self, name: str, version: str) -> int:
        """Return the number of a version; 0 if it is not known."""

    def kept(self) -> Mapping[str, tuple[str, ...]]:
        """Return the versions of each chart, the newest first."""

    async def refresh(self) -> None:
        """Notice files that were changed since."""

    async def compile(self, name: str, version: str) -> None:
        """Compile a version in a thread, if it is there, so that `find` returns it at once."""


@dataclass(slots=True, kw_only=True)
class Catalog:
    """The available patterns, models and tools, by name."""

    patterns: dict[str, type[Pattern]] = field(default_factory=dict)
    models: dict[str, Model] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    configuration: Configuration = field(default_factory=Configuration)
    registry: ModelRegistry = field(init=False)
    """All models by name, including those behind endpoints."""
    file: Path | None = None
    """The file that configures endpoints; it need not exist."""
    agents: ExternalAgents = field(init=False)
    """External agents."""
    mcp: McpServers = field(init=False)
    """MCP servers; their tools appear in `tools` once they have been listed."""
    charts: Charts | None = None
    """The chart files on this machine; they add themselves."""

    def __post_init__(self) -> None:
        for pattern in self.patterns.values():
            _set_version(pattern)
        self.agents = _agents(self.configuration)
        self.registry = ModelRegistry(self.models, self.configuration, agents=self.agents)
        self.mcp = McpServers(self.configuration.servers, self.tools, self.configuration.missing_servers)

    @classmethod
    def load(cls, folders: Sequence[Path] = (), endpoints: Path | None = None) -> Catalog:
        """Load everything available.

        Args:
            folders: folders with the user's own patterns and tools, as `.py` files.
            endpoints: the file that configures endpoints; without it there are none.
        """
        catalog = cls(file=endpoints)
        if endpoints is not None:
            try:
                catalog = cls(configuration=load_configuration(endpoints, os.environ), file=endpoints)
            except EngineError as error:
                catalog.faults.append(Fault(path=str(endpoints), line=0, problem=describe_error(error)))
        for name in PLUGIN_PACKAGES:
            package = importlib.import_module(name, __package__)
            root, prefix = Path(package.__path__[0]), f'{package.__name__}.'
            for module in pkgutil.walk_packages(package.__path__, prefix):
                if not module.ispkg:
                    inside = module.name.removeprefix(prefix).replace('.', '/')
                    catalog._load(root / f'{inside}.py', module.name)
        for folder in folders:
            if not folder.is_dir():
                catalog.faults.append(Fault(path=str(folder), line=0, problem='there is no such folder'))
            for path in sorted(folder.glob('*.py')):
                catalog._load(path, '')
        return catalog

    @property
    def configured(self) -> Path:
        """The file that configures endpoints. Raises `EngineError` if none is in use."""
        if self.file is None:
            raise EngineError('no configuration file is in use')
        return self.file

    def reconfigure(self) -> None:
        """Read that file again. Raises `EngineError`."""
        self.configuration = load_configuration(self.configured, os.environ)
        self.agents = _agents(self.configuration)
        self.registry.agents = self.agents
        self.registry.configure(self.configuration)
        self.mcp.configure(self.configuration.servers, self.configuration.missing_servers)
        self.faults = [fault for fault in self.faults if fault.path != str(self.file)]

    async def close(self) -> None:
        """Close all connections; they reopen on demand."""
        await asyncio.gather(self.registry.close(), self.mcp.close())

    def redact(self, value: Any) -> Any:
        """Return a JSON value without the secrets of endpoints, MCP servers and agents, safe to journal."""
        filters = [endpoint.secret_filter for endpoint in self.registry.endpoints]
        filters += [*self.mcp.secret_filters, *self.agents.secret_filters]
        for secret_filter in filters:
            if secret_filter:
                value = secret_filter.redact_value(value)
        return value

    def pattern(self, name: str, version: str = '') -> type[Pattern]:
        """Return the pattern with that name or alias, as it is today or of that version.

        Raises:
            UnknownPattern: `UnknownVersion` if it no longer has that version.
        """
        today = self.patterns.get(name)
        if version and (today is None or version != today.version):
            if self.charts and (earlier := self.charts.find(name, version)):
                return earlier
            raise UnknownVersion(name, version, self._today(name).version)
        return self._today(name)

    async def refresh(self) -> None:
        """Notice charts whose files were changed since, by an editor or another process."""
        if self.charts:
            await self.charts.refresh()

    async def compile(self, name: str, version: str) -> None:
        """Compile an earlier version of a chart in a thread: `pattern` would do so in the event loop's."""
        today = self.patterns.get(name)
        if version and self.charts and (today is None or version != today.version):
            await self.charts.compile(name, version)

    def pattern_of(self, run: Versioned) -> type[Pattern]:
        """Return the pattern that a run goes on with: of its own version, if that is still there.

        A pattern in Python has only today's code, which then takes the place of the run's. The versions of a
        chart are kept, so that nothing takes the place of one that is gone.

        Raises:
            UnknownPattern
        """
        try:
            return self.pattern(run.pattern, run.version)
        except UnknownVersion:
            if self.charts and self.charts.has(run.pattern):
                raise
            return self._today(run.pattern)

    def find_of(self, run: Versioned) -> type[Pattern] | None:
        """Return the pattern that a run goes on with, if it exists here."""
        with suppress(UnknownPattern):
            return self.pattern_of(run)
        return None

    def _today(self, name: str) -> type[Pattern]:
        if name not in self.patterns:
            for pattern in self.patterns.values():
                if name in pattern.aliases:
                    return pattern
            if name.startswith(TRACE_PREFIX):
                raise UnknownPattern(name, reason=TRACE_REASON)
            broken = [fault for fault in self.faults if fault.path.endswith(('.py', '.yaml'))]
            faults = tuple(f'{fault.path}, line {fault.line}: {fault.problem}' for fault in broken)
            raise UnknownPattern(name, tuple(sorted(self.patterns)), faults)
        return self.patterns[name]

    def find(self, name: str) -> type[Pattern] | None:
        """Return the pattern with that name or alias, if it exists here."""
        try:
            return self.pattern(name)
        except UnknownPattern:
            return None

    def draw(self, pattern: str, parameters: Mapping[str, Any] | None = None, version: str = '') -> Shape:
        """Build the chart a run of the pattern would have; omitted parameters take their defaults.

        Raises:
            UnknownPattern, InvalidInput
        """
        return build_shape(self.pattern(pattern, version).sample(parameters))

    def add(self, pattern: type[Pattern]) -> None:
        """Add a pattern. Raises `PatternError` if its name is in use."""
        existing = self.patterns.get(pattern.name)
        if existing is not None and existing is not pattern:
            raise PatternError(pattern.name, f'{existing.__module__} already has a pattern of this name')
        _set_version(pattern)
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
        except BaseException as error:  # Even if a user's file calls `sys.exit()`, the others must load.
            self.faults.append(_fault(path, error))

    def _add(self, kind: str, entries: dict[str, Any], name: str, entry: Any) -> None:
        if entries.setdefault(name, entry) is not entry:
            raise EngineError(f'there is already a {kind} {name!r}')


def _set_version(pattern: type[Pattern]) -> None:
    if 'version' not in vars(pattern):  # It may have its base's.
        pattern.version = code_version(pattern)


def _agents(configuration: Configuration) -> ExternalAgents:
    return ExternalAgents(configuration.agents, configuration.missing_agents, configuration.agents_off)


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
            if is_model or (issubclass(value, Pattern) and value.states and not value.abstract):
                yield value


def _fault(path: Path, error: BaseException) -> Fault:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return Fault(path=str(path), line=error.lineno or 0, problem=f'{type(error).__name__}: {error.msg}')
    lines = [
        frame.lineno or 0
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    return Fault(path=str(path), line=lines[-1] if lines else 0, problem=describe_error(error))

"""The options that commands share, as one object: where runs are, what may run, what is printed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast, get_args

import typer

from engine import Catalog, InvalidInput
from engine.charts.library import ChartLibrary, charts_folder
from ui.app.settings import Settings, Storage, Synchronous
from ui.cli.options import (
    AsJson,
    Command,
    Database,
    Durability,
    Files,
    Pace,
    Patterns,
    Quietly,
    Server,
    replace_parameter,
)


@dataclass(frozen=True, kw_only=True)
class Session:
    """The options that commands share: where the runs are, what may run, and what is printed."""

    storage: Storage
    """The storage that the composition root gave to the command line."""
    settings: Settings
    pace: float | None = None
    """Pieces of text per second that simulated models stream; None leaves it as it is."""
    quiet: bool = False
    as_json: bool = False
    server: str = ''
    """The address that `--server` names, or ''."""

    @classmethod
    def of(
        cls,
        context: typer.Context,
        *,
        patterns: Patterns = [],  # noqa: B006  (Typer copies it)
        pace: Pace = None,
        quiet: Quietly = False,
        as_json: AsJson = False,
        database: Database = '',
        synchronous: Durability = 'normal',
        files: Files = '',
        server: Server = '',
    ) -> Session:
        """Make a session from options, which `with_session` adds to commands. Raises `InvalidInput`."""
        if synchronous not in get_args(Synchronous):
            raise InvalidInput({'--synchronous': f'must be normal or full, not {synchronous!r}'})
        settings = Settings.of(database, cast(Synchronous, synchronous), tuple(patterns), files)
        return cls(
            storage=context.obj,
            settings=settings,
            pace=pace,
            quiet=quiet,
            as_json=as_json,
            server=server.strip(),
        )

    @cached_property
    def catalog(self) -> Catalog:
        """Patterns, tools and models, loaded when they are first used."""
        catalog = Catalog.load(self.settings.patterns, self.settings.endpoints)
        ChartLibrary(catalog, charts_folder(), self.settings.patterns)
        for model in catalog.models.values():
            if self.pace is not None and hasattr(model, 'pace'):
                model.pace = self.pace
        return catalog


def with_session(*options: str) -> Callable[[Command], Command]:
    """Add some of the options of `Session.of` to a command, in place of its parameter `session`.

    Help lists them where that parameter is. The command gets a `Session` with their values.
    """
    declared = inspect.signature(Session.of, eval_str=True).parameters
    added = [declared[name] for name in declared if name in {'context', *options}]
    assert len(added) == len(options) + 1, options

    return lambda command: replace_parameter(command, 'session', added, lambda values: Session.of(**values))

"""The last test of each connection: kept on this machine, as the configuration is, across processes."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from engine.host.private_file import change_private, read_private
from engine.models.registry import EndpointHealth
from engine.tools.acp.agents import AgentHealth

log = logging.getLogger('hemicycle')
FILE = 'connection-tests.json'
H = TypeVar('H', AgentHealth, EndpointHealth)


class LastTests(Generic[H]):
    """The results of one kind of connection, by name.

    Args:
        folder: where they are kept; None keeps them in memory.
        what: the kind of connection.
        result: the type of the results.
    """

    def __init__(self, folder: Path | None, what: Literal['endpoint', 'agent'], result: type[H]) -> None:
        self._file, self._prefix = folder and folder / FILE, f'{what}/'
        self._memory: dict[str, Any] = {}
        self._adapter: TypeAdapter[H] = TypeAdapter(result)

    async def all(self) -> dict[str, H]:
        """Return the last results."""
        bodies = await asyncio.to_thread(read_private, self._file) if self._file else self._memory
        results: dict[str, H] = {}
        for key, body in bodies.items():
            if key.startswith(self._prefix):
                with suppress(ValidationError):  # written by another version
                    results[key.removeprefix(self._prefix)] = self._adapter.validate_python(body)
        return results

    async def keep(self, name: str, result: H | None) -> None:
        """Keep a result in place of the one before it; None forgets that."""
        change = {f'{self._prefix}{name}': asdict(result) if result else None}
        if self._file is None:
            self._memory |= change
            return
        try:
            await asyncio.to_thread(change_private, self._file, change)
        except OSError as error:
            log.warning('the test of %s cannot be kept: %s', name, error)

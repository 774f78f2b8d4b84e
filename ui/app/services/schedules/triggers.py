"""Triggers: a signed webhook or a new file starts a run with parameters taken from it."""

from __future__ import annotations

import asyncio
import glob
import hashlib
import json
import logging
import os
import stat
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from standardwebhooks import Webhook

from engine import InvalidInput, LocalConductor
from engine.errors import EngineError, EntryChanged, JournalError
from engine.journal import Store
from engine.records import resolve_pointer, split_pointer
from engine.runtime import ACTOR
from ui.app.services.schedules.records import Tick, Trigger, UnknownTrigger
from ui.app.services.schedules.schedules import check_action
from ui.app.services.schedules.ticks import Source, Ticks, new_tick
from ui.app.services.signing import new_signing_secret, secret_problem

log = logging.getLogger('hemicycle')
KIND = 'trigger'
POLL_SECONDS = 2.0
"""Seconds between checks of folders; a file that is unchanged in two checks is complete."""
MAX_TEXT = 1_000_000
"""Maximum bytes of a file whose text can be used."""
MAX_FILES = 10_000
ID_HEADER = 'webhook-id'


class BadSignature(EngineError):
    """A webhook is not signed with the trigger's secret, or is too old."""


class Triggers:
    """Triggers of runs, in a conductor's journal."""

    def __init__(self, conductor: LocalConductor) -> None:
        self._conductor, self.ticks = conductor, Ticks(conductor)
        self._store = Store(conductor.journal.documents, KIND, Trigger, UnknownTrigger)
        self._last_files: dict[str, dict[str, str]] = {}
        """Files found by the last check, with size and time, by trigger."""
        self._known_ticks: dict[str, set[str]] = {}
        """Ticks of known files, which need not be looked up, by trigger."""

    async def list(self) -> list[Trigger]:
        """Return all triggers, sorted by name."""
        return sorted(await self._store.list(), key=lambda trigger: (trigger.name.lower(), trigger.id))

    async def get(self, trigger: str) -> Trigger:
        """Return a trigger. Raises `UnknownTrigger`."""
        return await self._store.get(trigger)

    async def add(self, trigger: Trigger) -> Trigger:
        """Store a new trigger; existing files do not fire it. Raises `InvalidInput`, `EntryChanged`."""
        secret = (trigger.secret or new_signing_secret()) if trigger.kind == 'webhook' else ''
        key, now = trigger.id or uuid.uuid4().hex[:12], self._conductor.clock.now()
        added = replace(trigger, id=key, author=trigger.author or ACTOR.get(), created=now, secret=secret)
        self.validate(added)
        present = await asyncio.to_thread(_find_files, added.files) if added.kind == 'file' else {}
        seen = [
            new_tick(_file_key(added.id, path, mark), added.id, added.created, state='seen')
            for path, mark in present.items()
        ]
        await self.ticks.claim(seen, self._store.entry_of(added))
        return added

    async def change(self, trigger: str, **values: Any) -> Trigger:
        """Change some fields. Raises `UnknownTrigger`, `InvalidInput`, `EntryChanged`."""

        def edit(stored: Trigger) -> Trigger:
            changed = replace(stored, **values)
            self.validate(changed)
            return changed

        return await self._store.change(trigger, edit)

    async def remove(self, trigger: str) -> None:
        """Remove a trigger; its runs stay. Raises `UnknownTrigger`."""
        await self._store.remove(trigger)

    async def log(self, trigger: str, limit: int = 50) -> Sequence[Tick]:
        """Return the ticks that fired it, latest first. Raises `UnknownTrigger`."""
        await self._store.read(trigger)
        ticks = await self.ticks.list(trigger, limit=limit)
        return [tick for tick in ticks if tick.state != 'seen']

    async def receive(self, trigger: str, headers: Mapping[str, str], body: bytes) -> Tick:
        """Start a run for a webhook; a repeated webhook does not start a second run.

        Raises:
            UnknownTrigger: there is none, it is paused, or it does not accept webhooks.
            BadSignature
            InvalidInput: the body is not JSON, or lacks a parameter.
        """
        record = await self.get(trigger)
        if record.kind != 'webhook' or record.paused:
            raise UnknownTrigger(trigger)
        try:
            Webhook(record.secret).verify(body, dict(headers), json_parse=False)
        except Exception as error:  # the library does not catch decoding errors
            raise BadSignature(f'the signature is not valid: {error}') from None
        try:
            document = json.loads(body)
        except ValueError as error:
            raise InvalidInput({'body': f'must be JSON: {error}'}) from None
        lowered = {name.lower(): value for name, value in headers.items()}
        return await self._fire(record, f'{trigger}@{lowered[ID_HEADER]}', document)

    async def run(self) -> None:
        """Watch folders until cancelled."""
        while True:
            try:
                await self.check_folders()
            except (JournalError, EntryChanged) as error:
                log.warning('triggers wait for the journal: %s', error)
            await self._conductor.clock.sleep(POLL_SECONDS)

    async def check_folders(self) -> Sequence[Tick]:
        """Start runs for new files, and for ticks that a killed process had claimed."""
        triggers = {trigger.id: trigger for trigger in await self.list()}
        done = []
        for tick in await self.ticks.list(state='claimed'):
            if trigger := triggers.get(tick.source):
                done.append(await self.ticks.start(tick, trigger.action, Source(KIND, trigger.name)))
        for trigger in triggers.values():
            if trigger.kind == 'file' and not trigger.paused:
                done += await self._check_folder(trigger)
        return done

    async def retention_filter(self) -> Callable[[Tick], bool]:
        """Return a predicate for ticks to keep: without its tick, an existing file would fire again."""
        present = {
            trigger.id: {
                _file_key(trigger.id, path, mark)
                for path, mark in (await asyncio.to_thread(_find_files, trigger.files)).items()
            }
            for trigger in await self.list()
            if trigger.kind == 'file'
        }

        def is_kept(tick: Tick) -> bool:
            there = present.get(tick.source)
            return there is not None and (not there or tick.id in there)  # A disk may be unavailable.

        return is_kept

    def validate(self, trigger: Trigger) -> None:
        """Raise `InvalidInput`, naming the field, for a trigger that cannot work."""
        problems = check_action(self._conductor, trigger.action, mapped=tuple(trigger.mapping))
        if not 0 < len(trigger.name.strip()) <= 200:
            problems['name'] = 'must have 1 to 200 characters'
        if trigger.kind == 'file' and not Path(trigger.files).is_absolute():
            problems['files'] = f'must be an absolute path such as /srv/in/*.csv, not {trigger.files!r}'
        elif trigger.kind == 'file' and glob.has_magic(os.path.dirname(trigger.files)):
            problems['files'] = 'may have wildcards in its last part only'
        for name, pointer in trigger.mapping.items():
            if pointer and not pointer.startswith('/'):
                problems[f'mapping.{name}'] = f'must be a JSON Pointer such as /issue/title, not {pointer!r}'
        if problem := secret_problem(trigger.secret):
            problems['secret'] = problem
        if problems:
            raise InvalidInput(problems)

    async def _check_folder(self, trigger: Trigger) -> Sequence[Tick]:
        before, handled = self._last_files.get(trigger.id, {}), self._known_ticks.get(trigger.id, set())
        now = self._last_files[trigger.id] = await asyncio.to_thread(_find_files, trigger.files)
        keys = {path: _file_key(trigger.id, path, mark) for path, mark in now.items()}
        handled = self._known_ticks[trigger.id] = handled & set(keys.values())
        done = []
        for path, key in keys.items():
            if key in handled or before.get(path) != now[path]:
                continue  # It was seen before, or is still being written.
            if await self.ticks.get(key):
                handled.add(key)
                continue
            document = await asyncio.to_thread(_contents, path)
            try:
                done.append(await self._fire(trigger, key, document))
            except InvalidInput as error:
                failed = new_tick(
                    key, trigger.id, self._conductor.clock.now(), state='failed', reason=f'{path}: {error}'
                )
                await self.ticks.claim([failed])
            handled.add(key)
        return done

    async def _fire(self, trigger: Trigger, key: str, document: Any) -> Tick:
        """Claim the tick of a payload and start its run, unless already done."""
        parameters = _map_parameters(trigger, document)
        if before := await self.ticks.get(key):
            return before
        tick = new_tick(key, trigger.id, self._conductor.clock.now(), parameters)
        try:
            (claimed,) = await self.ticks.claim([tick])
        except EntryChanged:
            # Another process has just done it.
            return await self.ticks.get(key) or tick
        return await self.ticks.start(claimed, trigger.action, Source(KIND, trigger.name))


def _map_parameters(trigger: Trigger, document: Any) -> dict[str, Any]:
    """Extract the parameters from a payload. Raises `InvalidInput` if one is missing."""
    missing = object()
    values = {
        name: resolve_pointer(document, split_pointer(pointer), missing)
        for name, pointer in trigger.mapping.items()
    }
    if lost := {
        name: f'there is nothing at {trigger.mapping[name]}'
        for name, value in values.items()
        if value is missing
    }:
        raise InvalidInput(lost)
    return values


def _file_key(trigger: str, path: str, mark: str) -> str:
    return f'{trigger}@{hashlib.sha256(f"{path}|{mark}".encode(errors="surrogateescape")).hexdigest()[:32]}'


def _find_files(pattern: str) -> dict[str, str]:
    """Return the matching files with size, modification time and inode; links are left out."""
    files = {}
    for path in sorted(glob.iglob(pattern))[:MAX_FILES]:
        try:
            facts = os.lstat(path)
        except OSError:
            continue  # Deleted in the meantime.
        if stat.S_ISREG(facts.st_mode):
            files[path] = f'{facts.st_size}|{facts.st_mtime_ns}|{facts.st_ino}'
    return files


def _contents(path: str) -> dict[str, Any]:
    """Return a file's payload, with its text only if that is UTF-8 and not too long."""
    document: dict[str, Any] = {'path': path, 'name': os.path.basename(path)}
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), 'rb') as file:
            document['size'] = os.fstat(file.fileno()).st_size
            if document['size'] <= MAX_TEXT:
                document['text'] = file.read(MAX_TEXT).decode('utf-8-sig')
    except (OSError, UnicodeDecodeError):
        pass
    return document

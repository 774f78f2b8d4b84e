"""Idempotency keys: a request that creates something can be repeated, and creates it once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated
from weakref import WeakValueDictionary

from fastapi import Depends, Header, Request, Response

from engine import EngineError, InvalidInput, LocalConductor
from engine.errors import EntryChanged, JournalError
from engine.journal import Reservation
from engine.records import RunId
from engine.runtime import new_run_id
from ui.api.access import identify
from ui.api.dependencies import backend_of
from ui.api.wire import encode_text
from ui.app.access.caller import Caller
from ui.app.backend import Backend

Key = Annotated[
    str | None,
    Header(
        alias='Idempotency-Key',
        min_length=1,
        max_length=200,
        description='Makes the request safe to repeat: for a week, the same key with the same body returns'
        ' the first response and creates nothing new.',
        examples=['4b1c2f0e-launch'],
    ),
]
LOCAL = 'local'
"""Stands for the caller where there are no accounts."""
REPLAYED = 'Idempotency-Replayed'
_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
"""By key, held while a request is carried out: a repeated request waits for the first."""


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """Carries out a request once for each key; without a key, every time."""

    conductor: LocalConductor
    key: str
    digest: str

    async def __call__(self, make: Callable[[RunId], Awaitable[Response]], *, location: str = '') -> Response:
        """Return the response of `make`, or the one it returned before.

        Args:
            make: called with the id for what it creates; a retry after a crash gets the same id.
            location: the path of what it creates; `{run}` stands for that id.

        Raises:
            InvalidInput: the key was used for another request.
        """
        if not self.key:
            return await make(new_run_id())
        lock = _locks.setdefault(self.key, asyncio.Lock())
        async with lock:
            journal, now = self.conductor.journal, self.conductor.clock.now()
            reservation = await journal.documents.reserve(
                Reservation(key=self.key, digest=self.digest, run=new_run_id(), created=now)
            )
            if reservation.digest != self.digest:
                raise InvalidInput({'Idempotency-Key': 'it was used for another request'})
            if reservation.reply:
                status, _, text = reservation.reply.partition(' ')
                headers = {REPLAYED: 'true'}
                if location:
                    headers['Location'] = location.format(run=reservation.run)
                return Response(text, int(status), media_type='application/json', headers=headers)
            try:
                response = await make(reservation.run)
            except EngineError as error:
                # A journal that failed may have stored the run: the next try must use the same id.
                if not isinstance(error, JournalError):
                    await journal.documents.finish_reservation(self.key, None)
                raise
            await journal.documents.finish_reservation(
                self.key, f'{response.status_code} {bytes(response.body).decode()}'
            )
            return response

    async def store(
        self,
        add: Callable[[RunId], Awaitable[object]],
        get: Callable[[str], Awaitable[object]],
        *,
        location: str,
    ) -> Response:
        """Store something under a new id with `add`, and return a response with what `get` reads.

        Raises:
            InvalidInput: the key was used for another request.
        """

        async def make(new: RunId) -> Response:
            with suppress(EntryChanged):  # An earlier try stored it before its server died.
                await add(new)
            return respond_created(encode_text(await get(new)), location.format(run=new))

        return await self(make, location=location)


async def idempotent_request(
    request: Request,
    backend: Annotated[Backend, Depends(backend_of)],
    caller: Annotated[Caller, Depends(identify)],
    key: Key = None,
) -> IdempotentRequest:
    """Return the `IdempotentRequest` that carries out this request."""
    conductor = backend.root
    if key is None:
        return IdempotentRequest(conductor, '', '')
    target = f'{request.method} {request.url.path}?{request.url.query}'.encode()
    digest = hashlib.sha256(target + b'\0' + await request.body()).hexdigest()
    return IdempotentRequest(
        conductor, hashlib.sha256(f'{caller.name or LOCAL}\0{key}'.encode()).hexdigest(), digest
    )


IdempotentDep = Annotated[IdempotentRequest, Depends(idempotent_request)]


def respond_created(text: str, location: str) -> Response:
    """Return a 201 response with what was created, given as JSON text."""
    return Response(text, 201, media_type='application/json', headers={'Location': location})

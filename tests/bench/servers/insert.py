"""A bare FastAPI route that inserts a row into SQLite: the baseline for launches over HTTP."""

from __future__ import annotations

import sqlite3
import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Asked(BaseModel):
    """The body of the request."""

    pattern: str
    parameters: dict[str, str]
    paused: bool = False


def main() -> None:
    """`insert.py PORT DATABASE`."""
    port, database = sys.argv[1:]
    connection = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
    connection.execute('PRAGMA journal_mode = WAL')
    connection.execute('PRAGMA synchronous = normal')
    connection.execute('CREATE TABLE run (id INTEGER PRIMARY KEY, body TEXT NOT NULL)')
    app = FastAPI()

    @app.get('/')
    async def ready() -> str:
        return 'ready'

    @app.post('/runs', status_code=201)
    async def create(body: Asked) -> dict[str, int | None]:
        cursor = connection.execute('INSERT INTO run (body) VALUES (?)', (body.model_dump_json(),))
        return {'id': cursor.lastrowid}

    uvicorn.run(app, port=int(port), log_level='critical')


if __name__ == '__main__':
    main()

"""An SQLAlchemy connection over one of sqlite3, whose owner begins its transactions and closes it."""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection, StaticPool, create_engine


def alchemy(connection: sqlite3.Connection) -> Connection:
    """The connection for SQLAlchemy, which only executes statements. Call this outside a transaction."""
    return create_engine('sqlite://', creator=lambda: connection, poolclass=StaticPool).connect()

"""An SQLAlchemy connection over an sqlite3 one, whose owner starts its transactions and closes it."""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection, StaticPool, create_engine


def alchemy(connection: sqlite3.Connection) -> Connection:
    """Wrap a connection for SQLAlchemy, which then only executes statements. Call outside a transaction."""
    return create_engine('sqlite://', creator=lambda: connection, poolclass=StaticPool).connect()

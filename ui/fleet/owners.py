"""Owners: a worker's name among those sharing a journal holds the address where it can be reached."""

from __future__ import annotations

import os
import socket
import uuid


def owner_of(url: str) -> str:
    """A new name for a worker that serves the API at this address."""
    return f'{url}#{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:4]}'


def address_of(owner: str) -> str:
    """Where the owner of a run can be reached; '' if it is no worker."""
    url, mark, _ = owner.partition('#')
    return url if mark and url.startswith(('http://', 'https://')) else ''


def name_of(owner: str) -> str:
    """A worker's name for people."""
    return owner.partition('#')[2] or owner

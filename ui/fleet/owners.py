"""Owners: the name of a worker among the processes that share a journal contains its URL."""

from __future__ import annotations

import os
import socket
import uuid


def owner_of(url: str) -> str:
    """Return a new name for a worker that serves the API at this URL."""
    return f'{url}#{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:4]}'


def address_of(owner: str) -> str:
    """Return the URL of a run's owner; '' if it is not a worker."""
    url, mark, _ = owner.partition('#')
    return url if mark and url.startswith(('http://', 'https://')) else ''


def name_of(owner: str) -> str:
    """Return a worker's display name."""
    return owner.partition('#')[2] or owner

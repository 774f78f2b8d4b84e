"""The Python client: a conductor whose runs are on a server."""

from ui.api.client.conductor import HttpConductor
from ui.api.client.connection import Connection, ServerUnreachable
from ui.api.client.derived import remote
from ui.api.client.watching import RunIsOver, stream_items

__all__ = ['Connection', 'HttpConductor', 'RunIsOver', 'ServerUnreachable', 'remote', 'stream_items']

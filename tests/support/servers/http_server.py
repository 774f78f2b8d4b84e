"""A small HTTP server on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Local:
    """Its address, and the requests: method, path, headers and body."""

    url: str
    asked: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)


@contextmanager
def local(reply: Callable[[str, str, Any], Answer]) -> Iterator[Local]:
    """Serve `reply(method, path, body)`; the body is JSON or None."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            size = int(self.headers.get('Content-Length', 0))
            data = self.rfile.read(size)
            if len(data) < size:  # The client has disconnected.
                self.close_connection = True
                return
            body = json.loads(data) if data else None
            local.asked.append((self.command, self.path, dict(self.headers), body))
            status, headers, data = reply(self.command, self.path, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header('Content-Length', str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = answer

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    local = Local(f'http://127.0.0.1:{server.server_port}')
    thread = Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
    thread.start()
    try:
        yield local
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    """An answer in JSON."""
    return status, {'Content-Type': 'application/json', **headers}, json.dumps(value).encode()

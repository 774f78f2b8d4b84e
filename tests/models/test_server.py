"""The test server leaves nothing open, whatever a connection was doing when it stopped."""

import asyncio
import gc
import socket
import warnings

import pytest

from tests.models.server import Wire, serving

MUCH = b'x' * 10_000_000


async def wordy(wire: Wire) -> None:
    wire.writer.write(MUCH)
    await wire.gone()


@pytest.mark.parametrize('turns', range(8))
@pytest.mark.parametrize(
    'request_', [b'', b'GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n'], ids=['connected', 'asked']
)
def test_the_test_server_leaves_no_connection_open(turns: int, request_: bytes) -> None:
    async def cut_off() -> socket.socket:
        async with serving(wordy) as server:
            host, port = server.url.split('/')[2].split(':')
            client = socket.create_connection((host, int(port)))
            client.sendall(request_)
            for _ in range(turns):
                await asyncio.sleep(0)
        return client

    with warnings.catch_warnings(record=True) as warnings_raised:
        warnings.simplefilter('always', ResourceWarning)
        client = asyncio.run(cut_off())
        gc.collect()
    client.close()
    assert [str(warning.message) for warning in warnings_raised] == []

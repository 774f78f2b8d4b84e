"""A provider that streams 100 pieces a second to each who asks, in either dialect; a process of its own."""

from __future__ import annotations

import asyncio
import sys

from tests.wire.speech import AnthropicSpeech, OpenAISpeech

PIECES_A_SECOND = 100


async def serve(port: int, pieces: int) -> None:
    """Answer for ever; a GET is told that it is there."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b'\r\n\r\n'):
                if head.startswith(b'GET'):
                    writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
                    continue
                length = next(
                    line for line in head.lower().split(b'\r\n') if line.startswith(b'content-length')
                )
                await reader.readexactly(int(length.partition(b':')[2]))
                await _stream(
                    writer, AnthropicSpeech() if b'/messages' in head[:40] else OpenAISpeech(), pieces
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(connected, '127.0.0.1', port) as listening:
        await listening.serve_forever()


async def _stream(writer: asyncio.StreamWriter, speech: AnthropicSpeech | OpenAISpeech, pieces: int) -> None:
    writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n')
    piece = _chunk(speech.say(' word'))
    writer.write(_chunk(speech.start))
    now = asyncio.get_running_loop().time
    began = now()
    for number in range(pieces):
        await asyncio.sleep(began + number / PIECES_A_SECOND - now())
        writer.write(piece)
    writer.write(_chunk(speech.used(pieces)) + _chunk(speech.stop + speech.end) + b'0\r\n\r\n')
    await writer.drain()


def _chunk(data: bytes) -> bytes:
    return f'{len(data):x}\r\n'.encode() + data + b'\r\n'


if __name__ == '__main__':
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))

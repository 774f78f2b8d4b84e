"""The best a streaming page can do: one `<pre>` for each agent, fed by a websocket."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from typing import Any

import uvicorn
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from fastapi.responses import HTMLResponse

from tests.bench.servers.live import PACE, SIX, word

PAGE = f"""<!doctype html><meta charset="utf-8"><title>Bare</title>
{''.join(f'<pre id="{name}" style="height:120px;overflow:auto;white-space:pre-wrap"></pre>' for name in SIX)}
<script>
  const seen = window.seen = {{ pieces: [] }};
  new WebSocket(`ws://${{location.host}}/pieces`).onmessage = ({{ data }}) => {{
    const [name, number, text] = JSON.parse(data), box = document.getElementById(name);
    box.append(text);
    box.scrollTop = box.scrollHeight;
    seen.pieces.push([name, number, (performance.timeOrigin + performance.now()) / 1000]);
  }};
</script>"""

app = FastAPI()
said: list[tuple[str, int, float]] = []


@app.get('/')
def page() -> HTMLResponse:
    """Six texts."""
    return HTMLResponse(PAGE)


@app.get('/bench')
def bench() -> dict[str, Any]:
    """Everything since the last request."""
    state = {'said': said[:]}
    said.clear()
    return state


@app.websocket('/pieces')
async def pieces(socket: WebSocket) -> None:
    """Send until the client leaves."""
    await socket.accept()

    async def talk(name: str) -> None:
        for number in itertools.count(1):
            await asyncio.sleep(1 / PACE)
            said.append((name, number, time.time()))
            await socket.send_json([name, number, word(number)])

    try:
        await asyncio.gather(*map(talk, SIX))
    except (WebSocketDisconnect, RuntimeError):
        return


if __name__ == '__main__':
    uvicorn.run(app, host='127.0.0.1', port=int(sys.argv[1]), log_level='warning')

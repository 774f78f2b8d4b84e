"""An agent that never stops talking, and records when each piece was sent. Standard library only."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

WORDS = ('The', 'tests', 'pass', 'once', 'this', 'branch', 'is', 'gone', 'from', 'module')


def put(**message: Any) -> None:
    """Send a message."""
    sys.stdout.write(f'{json.dumps({"jsonrpc": "2.0", **message})}\n')
    sys.stdout.flush()


def update(name: str, /, **fields: Any) -> None:
    """Send an update of the session."""
    put(method='session/update', params={'sessionId': 's', 'update': {'sessionUpdate': name, **fields}})


def talk(pace: float, reply: int) -> None:
    """Say numbered words, with a tool call after every `reply` of them."""
    number, due = 0, time.monotonic()
    with open(os.environ['SAID'] + os.path.basename(os.getcwd()), 'w', encoding='utf-8') as log:
        while True:
            due += 1 / pace
            time.sleep(max(0.0, due - time.monotonic()))
            number += 1
            text = f'{WORDS[number % len(WORDS)]} p{number} ' + ('\n\n' if number % 20 == 0 else '')
            log.write(f'{number} {time.time()}\n')
            log.flush()
            update('agent_message_chunk', content={'type': 'text', 'text': text})
            if number % reply == 0:
                ended = {'status': 'completed', 'rawInput': {'pattern': 'merge'}, 'rawOutput': 'spans.py:12'}
                update('tool_call', toolCallId=f'c{number}', title='Search', kind='search', **ended)


def main(pace: float, reply: int) -> None:
    """Answer until the first prompt; then talk until killed."""
    for line in sys.stdin:
        data = json.loads(line)
        if data['method'] == 'session/prompt':
            talk(pace, reply)
        put(id=data['id'], result={'protocolVersion': 1, 'sessionId': 's'})


if __name__ == '__main__':
    main(float(sys.argv[1]), int(sys.argv[2]))

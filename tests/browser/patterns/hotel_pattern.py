"""An agent whose MCP server asks a person during a call: `hotel(folder)` writes its pattern."""

import json
import sys
from pathlib import Path

from tests.support.mcp.pattern import PROGRAM

OLDER = str(Path(PROGRAM).with_name('older.py'))


def hotel(folder: Path) -> Path:
    """Write the pattern and its server's configuration, and return the pattern's folder."""
    patterns = folder / 'patterns'
    patterns.mkdir(exist_ok=True)
    (patterns / 'hotel.py').write_text(SOURCE)
    settings = {'command': sys.executable, 'args': [OLDER], 'start': 60}
    lines = [f'{name} = {json.dumps(value)}' for name, value in settings.items()]
    (folder / 'endpoints.toml').write_text('\n'.join(['[mcp.small]', *lines]))
    return patterns


SOURCE = '''
"""Books a room, which needs a person."""
from engine import Memory, Pattern, Role, agent
from engine.models.scripted.model import Scripted
from engine.models.prepared_replies import Call, Turn

known = Scripted._turn
Scripted._turn = lambda self, request: (
    turn(request) if request.hints.pattern == 'hotel' else known(self, request)
)


def turn(request):
    if request.hints.turn == 0:
        return Turn(text='I book a room.', calls=(Call(tool='small_book', arguments={}),))
    return Turn(text=f'The server said: {request.messages[-1].parts[0].text}')


CLERK = Role(name='clerk', title='Clerk', instructions='Book rooms.', tools=('mcp:small',))


class Hotel(Pattern):
    """Books a room."""

    initial = 'booking'
    answer = 'said'
    states = [
        agent('booking', CLERK, prompt='ask', then='keep'),
        {'name': 'booked', 'final': True},
        {'name': 'lost', 'final': True, 'outcome': 'failed'},
    ]
    transitions = [['done', 'booking', 'booked'], ['failed', 'booking', 'lost']]

    class Memory(Memory):
        said: str = ''

    def ask(self, memory):
        return 'A room for tonight.'

    def keep(self, memory, event):
        memory.said = event.data['text'].strip()
'''

"""A crew of agents side by side, with tools, for tests of the run page: `crew(folder)` writes its pattern.

The scripted model plays it with replies from the pattern's file: shipped scenarios are not for tests.
"""

from pathlib import Path


def crew(folder: Path) -> Path:
    """Write the patterns into a new folder, and return it."""
    patterns = folder / 'patterns'
    patterns.mkdir(exist_ok=True)
    (patterns / 'crew.py').write_text(SOURCE)
    return patterns


SOURCE = '''
"""Workers side by side who write files and deploy, then a judge."""
from typing import Annotated

from pydantic import BaseModel, Field

from engine import Memory, Pattern, Role, ToolContext, agent, tool
from engine.models.scripted.model import Scripted
from engine.models.prepared_replies import Call, Failure, Turn

PROGRAM = """def add(a, b):
    return a + b


if __name__ == '__main__':
    print(add(1, 2))
"""
WORDS = 'Plain words that go on for a while, so that there is something to see in this pane. ' * 6


@tool(category='general', side_effects=True, approval=True)
async def deploy(
    context: ToolContext,
    target: Annotated[str, Field(min_length=2)],
    replicas: Annotated[int, Field(ge=1, le=9)] = 1,
) -> str:
    """Put the program where people use it."""
    return f'deployed to {target}, {replicas} times'


@tool(category='general', most_text=2_000)
async def report(context: ToolContext, lines: int) -> str:
    """Many lines."""
    return '\\n'.join(f'line {number}' for number in range(lines))


def turn(hints):
    deploys = hints.state == 'deploying'
    words = WORDS * 8 if hints.pattern == 'talkative' else WORDS
    if hints.state.startswith('working.'):
        number = int(hints.state.rpartition('_')[2])
        program = {'path': f'src/part_{number}.py', 'text': PROGRAM + f'# {number}\\n'}
        writes = Call(tool='write_file', arguments=program)
        reports = Call(tool='report', arguments={'lines': 900})
        notes = Call(tool='write_file', arguments={'path': 'notes.txt', 'text': f'part {number}\\n'})
        again = Call(tool='write_file', arguments={'path': 'notes.txt', 'text': f'part {number}, done\\n'})
        turns = [
            Turn(text=words, calls=(writes, notes)),
            Turn(reasoning=words, text='Now the report.', calls=(reports, again)),
            Turn(text=f'Part {number} is **done**. ' + words),
        ]
        if hints.pattern == 'stumbling' and number == 2 and hints.turn == 0:
            fail = Failure(kind='rate limit', message='too many requests', attempts=1, retry_after=4)
            return Turn(text=WORDS, calls=(writes, notes), fail=fail)
        return turns[min(hints.turn, 2)]
    if deploys and hints.turn == 0:
        asks = Call(tool='deploy', arguments={'target': 'production', 'replicas': 3})
        return Turn(text='Out with it.', calls=(asks,))
    return Turn(text='All is **well**.')


known = Scripted._turn
CREWS = ('crew', 'stumbling', 'talkative')
Scripted._turn = lambda self, request: (
    turn(request.hints) if request.hints.pattern in CREWS else known(self, request)
)


class Crew(Pattern):
    """Workers side by side who write files; then somebody deploys, if a person allows it."""

    class Parameters(BaseModel):
        workers: int = Field(3, ge=0, le=6)

    class Memory(Memory):
        said: str = ''

    initial = 'beginning'
    answer = 'said'

    def states(self):
        many = self.parameters.workers
        tools = ('write_file', 'report')
        role = Role(name='worker', title='Worker', instructions='', tools=tools)
        working = [agent(f'worker_{n}', role, prompt='ask') for n in range(1, many + 1)]
        return [
            {'name': 'beginning'},
            *([{'name': 'working', 'parallel': working}] if many else []),
            agent('deploying', 'deployer', prompt='ask', tools=('deploy',), then='keep'),
            {'name': 'over', 'final': True},
            {'name': 'lost', 'final': True, 'outcome': 'failed'},
        ]

    def transitions(self):
        first = 'working' if self.parameters.workers else 'deploying'
        return [
            ['always', 'beginning', first],
            *(['done', first, 'deploying'] for _ in range(first == 'working')),
            *(['failed', first, 'deploying'] for _ in range(first == 'working')),
            ['done', 'deploying', 'over'],
            ['failed', 'deploying', 'lost'],
        ]

    def ask(self, memory):
        return 'Do your part.'

    def keep(self, memory, event):
        memory.said = event.data['text']


class Stumbling(Crew):
    """The crew, whose second worker's first call is refused and made again after four seconds."""


class Talkative(Crew):
    """The crew, whose workers say eight times as much."""
'''

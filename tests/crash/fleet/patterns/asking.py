"""A pattern for tests of a fleet: an agent that is asked a number of times."""

from pydantic import BaseModel, Field

from engine import Memory, Pattern, agent


class Asking(Pattern):
    """Asks a model a number of times."""

    class Parameters(BaseModel):
        steps: int = Field(5, ge=1)

    class Memory(Memory):
        steps: int = 0
        taken: int = 0

    initial = 'asking'
    answer = 'taken'
    states = (
        agent('asking', prompt='ask'),
        {'name': 'ended', 'final': True},
        {'name': 'broken', 'final': True, 'outcome': 'failed'},
    )
    transitions = (
        {'trigger': 'done', 'source': 'asking', 'dest': 'ended', 'conditions': 'is_last', 'after': 'count'},
        {'trigger': 'done', 'source': 'asking', 'dest': 'asking', 'after': 'count'},
        ['failed', 'asking', 'broken'],
    )

    def ask(self, memory):
        return f'Question {memory.taken + 1}'

    def is_last(self, memory, event):
        return memory.taken + 1 >= memory.steps

    def count(self, memory, event):
        memory.taken += 1

"""A team that never ends, and a run full of messages: `loop(folder)` writes the patterns."""

from pathlib import Path


def loop(folder: Path) -> Path:
    """Write the patterns into a new folder, and return it."""
    patterns = folder / 'patterns'
    patterns.mkdir()
    (patterns / 'chatter.py').write_text(SOURCE)
    return patterns


SOURCE = '''
"""Many messages at once; and a coder of the time-bounded loop who thinks until the time is over."""
from pydantic import BaseModel, ConfigDict, Field

from engine import Memory, Pattern
from engine.models.scripted.model import Scripted
from engine.models.prepared_replies import Turn

STEPS = [{'description': f'Do part {number}', 'complexity': 'simple'} for number in (1, 2)]
PLAN = {'analysis': 'Two parts.', 'steps': STEPS}
FINE = {'score': 90, 'approved': True, 'actionable': True, 'reasonable': True, 'summary': 'A sound plan.'}


def turn(hints):
    if hints.state.endswith('.writing'):
        return Turn(answer=PLAN)
    if hints.state.endswith('.coding'):
        return Turn(seconds=3600, text='Still thinking.')
    return Turn(answer=FINE)


known = Scripted._turn
Scripted._turn = lambda self, request: (
    turn(request.hints) if request.hints.pattern == 'time-bounded' else known(self, request)
)


class Post(BaseModel):
    model_config = ConfigDict(frozen=True)

    sender: str
    recipient: str
    type: str
    content: str


class Chatter(Pattern):
    """Says much, and ends."""

    class Parameters(BaseModel):
        many: int = Field(500, ge=0, le=5_000)

    class Memory(Memory):
        posts: list[Post] = Field(default_factory=list)

    initial = 'talking'
    panels = {'messages': 'posts'}
    states = [{'name': 'talking', 'on_enter': 'talk'}, {'name': 'over', 'final': True}]
    transitions = [['always', 'talking', 'over']]

    def talk(self, memory, event):
        names = ('ann', 'ben', 'cat', 'dan')
        for number in range(self.parameters.many):
            memory.posts.append(
                Post(
                    sender=names[number % 4], recipient=names[(number * 3 + 1) % 4],
                    type='QUESTION' if number % 2 else 'ANSWER_RESPONSE',
                    content=f'<img src=x onerror="window.broken = 1"> **message** number {number}',
                )
            )
'''

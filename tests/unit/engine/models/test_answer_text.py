"""The text of an answer: its reasoning and its calls, however the server splits it into pieces."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from engine.agents.message_accumulator import MessageAccumulator
from engine.models.http.answer_events import AnswerEvents
from engine.models.protocol import Completed, TextPiece, ToolSpec
from engine.records.message import Reasoning

DRAFT, FINAL = '{"approved": true}', '{"approved": false}'
LOOK = ToolSpec(
    name='look', description='', schema={'properties': {'at': {'type': 'string'}, 'n': {'type': 'integer'}}}
)
ANALYSIS = f'<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant'

Read = tuple[str, str, list[tuple[str, str]]]


def read(*pieces: str) -> Read:
    """The reasoning, the text and the calls of an answer."""
    events, accumulator = AnswerEvents((LOOK,)), MessageAccumulator()
    for piece in (*(TextPiece(text=text) for text in pieces), Completed()):
        for event in events.turn(piece):
            accumulator.add(event)
    message = accumulator.message('c')
    reasoning = ''.join(part.text for part in message.parts if isinstance(part, Reasoning))
    return reasoning, message.text, [(call.name, call.arguments) for call in message.calls]


REASONING = {
    f'<think>{DRAFT} but no\nDONE\n</think>{FINAL}': (f'{DRAFT} but no\nDONE\n', FINAL),
    f'\n<thinking>\n{DRAFT}\n</thinking>\n\n{FINAL}': (f'\n{DRAFT}\n', FINAL),
    f'<think>a</think>\n<reasoning>b</reasoning>{FINAL}': ('ab', FINAL),
    f'[THINK]{DRAFT}[/THINK]{FINAL}': (DRAFT, FINAL),
    f'{DRAFT} but no ...</think>{FINAL}': (f'{DRAFT} but no ...', FINAL),
    f'<think>a <think>b</think> {DRAFT}</think>{FINAL}': (f'a <think>b{DRAFT}', FINAL),
    f'</think>{FINAL}': ('', FINAL),
    f'<think>{DRAFT}': (DRAFT, ''),
    f'Sure.\n<think>{DRAFT}</think>\n{FINAL}': (DRAFT, f'Sure.\n\n{FINAL}'),
    f'{ANALYSIS}<|channel|>final<|message|>{FINAL}<|return|>': (DRAFT, FINAL),
    f'{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{FINAL}': (f'{DRAFT}<|end|>', FINAL),
    f'<think>They write "</think>" and stop.</think>{FINAL}': ('They write "</think>" and stop.', FINAL),
    f'<think><tool_call>{{"name": "look"}}</tool_call></think>{FINAL}': (
        '<tool_call>{"name": "look"}</tool_call>',
        FINAL,
    ),
    f'Hm<tool_call>{{"name": "look"}}</tool_call></think>{FINAL}': (
        'Hm<tool_call>{"name": "look"}</tool_call>',
        FINAL,
    ),
}
PLAIN = [
    '  Plain, 1 < 2, [x] <|chan',
    'Models begin with `<think>` and end with `</think>`.',
    'They write "</think>", not more.',
    'Use <think> and </think> around it.',
    'They put it into <tool_call> tags, and so on.',
    'Then comes\n<think>\nand nothing else.',
    '```xml\n<think>x</think>\n<tool_call>\n```\nThat is all.',
    '{"code": "print(\'</think>\')", "why": "\\"<tool_call>\\""}',
    '   ',
]
CALLS = {
    'Look.\n<tool_call>\n{"name": "look", "arguments": {"at": "</tool_call>"}}\n</tool_call>': (
        'Look.\n',
        [('look', '{"at": "</tool_call>"}')],
    ),
    '<tool_call>{"name": "look", "at": "x"}</tool_call>': ('', [('look', '{"at": "x"}')]),
    '<tool_call>{"name": "look", "argum': ('', [('look', '{"name": "look", "argum')]),
    '<tool_call>{"arguments": {"n": 1}}</tool_call>': ('', [('unnamed', '{"n": 1}')]),
    '<tool_call>\n<function=look>\n<parameter=at>\n12\n</parameter>\n<parameter=n>\n12\n</parameter>\n'
    '</function>\n</tool_call>': ('', [('look', '{"at": "12", "n": 12}')]),
    '<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>x</arg_value>\n</tool_call>': (
        '',
        [('look', '{"at": "x"}')],
    ),
    '<function=look>{"n": 1}</function>': ('', [('look', '{"n": 1}')]),
    '[TOOL_CALLS][{"name": "look", "arguments": {"n": 1}}, {"name": "x", "arguments": "{}"}]': (
        '',
        [('look', '{"n": 1}'), ('x', '{}')],
    ),
    '[TOOL_CALLS]look[ARGS]{"n": 1}look{"n": 2}': ('', [('look', '{"n": 1}'), ('look', '{"n": 2}')]),
    '<|python_tag|>{"name": "look", "parameters": {"n": 1}}': ('', [('look', '{"n": 1}')]),
}
CASES: dict[str, Read] = {
    **{text: (*parts, []) for text, parts in REASONING.items()},
    **{text: ('', text, []) for text in PLAIN},
    **{text: ('', *parts) for text, parts in CALLS.items()},
    f'{ANALYSIS}<|channel|>commentary to=functions.look <|constrain|>json<|message|>{{"n": 1}}<|call|>': (
        DRAFT,
        '',
        [('look', '{"n": 1}')],
    ),
}


@pytest.mark.parametrize('text', CASES, ids=lambda text: text[:40])
def test_an_answer_is_separated_in_the_same_way_however_it_is_split(text: str) -> None:
    assert read(text) == CASES[text]
    assert read(*text) == CASES[text]
    chance = random.Random(text)
    for _ in range(50):
        cuts = sorted(chance.choices(range(len(text) + 1), k=chance.randint(1, 6)))
        assert read(*(text[at:to] for at, to in itertools.pairwise([0, *cuts, len(text)]))) == CASES[text]


@pytest.mark.parametrize(
    'piece', ['<', '\n<think>', '</think>', '<|channel|>', '"</think>', '<tool_call>{"</tool_call>', ' ']
)
def test_hostile_text_is_read_in_linear_time(piece: str) -> None:
    began = time.process_time()
    read(piece * 30_000)
    assert time.process_time() - began < 3

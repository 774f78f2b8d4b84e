"""A chart in the layouts that people and programs write, and a random edit of one."""

from __future__ import annotations

import json
from random import Random

import yaml

from engine.charts import load_chart
from engine.charts.edits import (
    AddAgent,
    AddEdge,
    AddState,
    ChangeEdge,
    DeleteEdge,
    DeleteState,
    Edit,
    Rename,
    SetDefault,
    SetKey,
    SetRole,
)
from engine.charts.reading import Problems, read_chart
from engine.records import Shape
from engine.statechart.shape_builder import build_shape

COMMENTED = """\
# Wer schreibt? — 🖊
chart: team
title: "Team"   # shown
parameters:
  task: {type: string, title: Task}
  rounds: {type: integer,   default: 2}

memory:
  task: string
  rounds: integer
  round: {type: integer, default: 0}
  drafts: {type: array, items: Draft}
  answer: string
records:
  Draft: {text: string, round: integer}
define: {latest: "memory.drafts[-1]", latest_text: latest.text}
answer: answer
panels: {result: {revisions: drafts}}
roles:
  writer: {title: Writer, instructions: You write., tools: [notes]}

  critic: {instructions: 'You judge.'}\t# a tab
guards:
  is_spent: {if: memory.round >= memory.rounds, words: no rounds left}
actions:
  keep: [{append: {drafts: {text: text, round: memory.round}}}, {set: {answer: text}}]
initial: work
states:
  # The work.
  work:
    initial: writing
    states:
      writing:
        agent: writer
        prompt: |
          Task: {{ memory.task }}   (memory.task is the task)
          {%- if memory.round > 0 %} Mend it. {% endif %}

        then: keep
      judging: {agent: critic, prompt: '{{ memory.answer }}',
        then: [{increment: round}]}   # one line each
      over: {final: true}

    transitions:
      - on: done
        from: writing
        to: judging
      - {on: done, from: judging, to: over, if: is_spent}
      - {on: done, from: judging, to: writing, unless: "memory.drafts[-1].text == '' or latest == null"}
  asking: {waits: verdict}

  # Ends.
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:   # tried in order
  - {on: done, from: work, to: asking}
  # by a person
  - {on: verdict, from: asking, to: done}
  - {on: failed, from: '*', to: failed}
  - {on: expired, from: [work, asking], to: failed, if: at == 'work'}
scenarios:
  - {title: Short, parameters: {task: A toast}, stubs: {writer: [Hi], work.judging: [Good]}}
stubs: {critic: [Fine]}
"""


def data_of(text: str) -> dict:
    """Return a text as plain data."""
    return read_chart(text, Problems('chart'))[1]


def shape_of(text: str) -> Shape:
    """Return the chart that a text describes."""
    return build_shape(load_chart(text).sample())


DATA = data_of(COMMENTED)
LAYOUTS = {
    'with comments': COMMENTED,
    'of Windows': COMMENTED.replace('\n', '\r\n'),
    'without a last line end': COMMENTED.rstrip('\n'),
    'with a byte order mark': '\ufeff' + COMMENTED,
    'in blocks': yaml.safe_dump(DATA, sort_keys=False, allow_unicode=True),
    'in blocks, indented by 4': yaml.safe_dump(DATA, sort_keys=False, indent=4),
    'in brackets': yaml.safe_dump(DATA, sort_keys=False, default_flow_style=True, width=60),
    'as JSON': json.dumps(DATA, indent=2, ensure_ascii=False),
    'as JSON on one line': json.dumps(DATA),
    'between markers': f'---\n{COMMENTED}...\n',
}


RENAMED = [
    ('role', 'writer'), ('field', 'round'), ('field', 'task'), ('guard', 'is_spent'), ('action', 'keep'),
    ('record', 'Draft'), ('definition', 'latest'),
]  # fmt: skip
PROMPT = 'Say: "hi"\n # no\n'
TYPED = ['\n', '  \n', '# note: {a, b} "c\n', '      # - on: done\n']


def random_edit(random: Random, text: str) -> Edit:
    """Return an edit as a click in the diagram may ask for, whether it fits or not."""
    shape, roles = shape_of(text), list(data_of(text)['roles'])
    inside = [f'{state.path}.' for state in shape.states if state.role]
    own = [state.path for state in shape.states if not state.path.startswith(tuple(inside))]
    edges = [edge for edge in shape.edges if edge.trigger != 'start' and edge.source in own]
    path, other, edge = random.choice(own), random.choice(own), random.choice(edges)
    at = {'trigger': edge.trigger, 'source': edge.source, 'dest': edge.dest}
    parent = random.choice(['', '', *(state.path for state in shape.states if state.kind == 'compound')])
    new = {'name': random.choice(['mending', 'waiting', 'in_between', 'last step']), 'parent': parent}
    guard = random.choice([(), ('is_spent',), ("memory.answer != '#: '",)])
    what, old = random.choice(RENAMED)
    return random.choice([
        AddState(**new, to=other, position=random.randrange(4)),
        AddState(**new, final=True),
        AddAgent(**new, role=random.choice(roles), prompt='Do:\n  {{ memory.task }}\n', to=other),
        AddEdge(trigger=random.choice(['done', 'verdict']), source=path, dest=other, conditions=guard),
        Rename(what='state', old=path, new=new['name']),
        Rename(what=what, old=old, new=old + random.choice('xyz')),
        DeleteState(state=path),
        DeleteEdge(**at),
        ChangeEdge(**at, conditions=guard, new_dest=random.choice([None, other])),
        SetKey(state=path, key=random.choice(['within', 'prompt']), value=random.choice([None, 60, PROMPT])),
        SetDefault(parameter=random.choice(['task', 'rounds']), value=random.choice([3, 'A toast', None])),
        SetRole(role=random.choice(roles), instructions=PROMPT + random.choice(['', '{{ no }}']), tools=()),
    ])  # fmt: skip


def random_typing(random: Random, text: str) -> str:
    """Return a text in which somebody added a comment or a blank line."""
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines) + 1)
    return ''.join([*lines[:at], random.choice(TYPED), *lines[at:]])

"""The text that a new chart begins with."""

from __future__ import annotations

from ui.web.pages.charts.outline import read_keys

TEMPLATE = """\
chart: new
title: New chart
summary: A writer drafts, and a critic sends it back until it is good.
parameters:
  task: {type: string, title: Task, description: What to write, minLength: 3, multiline: true}
  rounds: {type: integer, title: Rounds, default: 2, minimum: 0, maximum: 10}
records:
  Review:
    approved: {type: boolean, description: Whether it can go out}
    comments: {type: array, items: string, default: []}
memory:
  task: string
  rounds: integer
  round: {type: integer, default: 0}
  review: {type: Review, nullable: true}
  answer: string
answer: answer
roles:
  writer: {title: Writer, instructions: You write short texts.}
  critic: {title: Critic, instructions: You judge texts.}
guards:
  is_approved: memory.review.approved
  is_spent: {if: memory.round >= memory.rounds, words: no rounds left}
initial: writing
states:
  writing:
    agent: writer
    prompt: |
      {{ memory.task }}
      {% if memory.review %}Mend: {{ memory.review.comments | join('; ') }}{% endif %}
    then: [{set: {answer: text}}]
  judging:
    agent: critic
    output: Review
    prompt: 'Can this go out? {{ memory.answer }}'
    then: [{set: {review: output}}]
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:
  - {on: done, from: writing, to: judging}
  - {on: done, from: judging, to: done, if: is_approved}
  - {on: done, from: judging, to: done, if: is_spent}
  - {on: done, from: judging, to: writing, do: [{increment: round}]}
  - {on: failed, from: '*', to: failed}
scenarios:
  - title: A toast
    parameters: {task: A toast to Ada}
    stubs:
      writer: [To Ada!, To Ada and to all that she has built!]
      critic:
        - {approved: false, comments: [warmer]}
        - {approved: true}
"""


def named(text: str, name: str) -> str:
    """Return the text of a chart with another name."""
    lines = text.split('\n')
    for key in read_keys(text):
        if key.path == ('chart',):
            lines[key.line - 1] = f'chart: {name}'
    return '\n'.join(lines)

"""A stand-in for a model that writes charts: makes mistakes on purpose, and mends what findings name.

It mends by rules, from the words of a finding and the line that this names.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.models.protocol import ModelRequest

WRITERS = """\
chart: three-writers
parameters:
  task: {type: string, title: Task, description: What to write, examples: [A toast]}
records:
  Verdict: {approved: boolean, best: string}
memory:
  task: string
  round: integer
  texts: {type: array, items: string}
  verdict: {type: Verdict, nullable: true}
  answer: string
answer: answer
roles:
  writer: {instructions: You write.}
  judge: {instructions: You judge.}
initial: writing
states:
  writing:
    parallel:
      writer:
        for: number in range(1, 4)
        name: writer{{ number }}
        initial: drafting
        states:
          drafting: {agent: writer, prompt: 'Write: {{ memory.task }}', then: [{append: {texts: text}}]}
          done: {final: true}
        transitions:
          - {on: done, from: drafting, to: done}
          - {on: failed, from: drafting, to: done}
  judging:
    agent: judge
    output: Verdict
    prompt: '{{ memory.texts }}'
    then: [{set: {verdict: output, answer: output.best}}]
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:
  - {on: done, from: writing, to: judging}
  - {on: done, from: judging, to: done, if: memory.verdict.approved}
  - {on: done, from: judging, to: done, if: memory.round >= 2}
  - {on: done, from: judging, to: writing, do: [{increment: round}]}
  - {on: failed, from: '*', to: failed}
stubs:
  writer: [A draft]
  judge: [{approved: false, best: A draft}, {approved: true, best: A draft}]
"""
FACTS = """\
chart: checked-facts
parameters:
  task: {type: string, title: Topic, description: What about, examples: [Bees]}
memory:
  task: string
  facts: string
  answer: string
answer: answer
roles:
  researcher: {instructions: You collect facts., tools: [notes]}
  checker: {instructions: You check facts., tools: [calculator]}
initial: researching
states:
  researching: {agent: researcher, prompt: 'Facts about {{ memory.task }}', then: [{set: {facts: text}}]}
  checking: {agent: checker, prompt: 'Check: {{ memory.facts }}', then: [{set: {answer: text}}]}
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:
  - {on: done, from: researching, to: checking}
  - {on: done, from: checking, to: done}
  - {on: failed, from: '*', to: failed}
stubs: {researcher: [Bees fly.], checker: [They do.]}
"""
REPLIES = """\
chart: asked-replies
parameters:
  task: {type: string, title: Letter, description: To be answered, examples: [Where is my parcel?]}
inputs:
  send_back: {wish: {type: string, title: Changes, description: What should change}}
memory:
  task: string
  wish: string
  answer: string
answer: answer
wait_texts: {approval: your approval}
roles:
  clerk: {instructions: You answer letters.}
initial: writing
states:
  writing: {agent: clerk, prompt: 'Answer {{ memory.task }} {{ memory.wish }}', then: [{set: {answer: text}}]}
  asking: {waits: approval}
  done: {final: true}
  failed: {final: true, outcome: failed}
transitions:
  - {on: done, from: writing, to: asking}
  - {on: send, from: asking, to: done}
  - {on: send_back, from: asking, to: writing, do: [{set: {wish: data.wish}}]}
  - {on: failed, from: '*', to: failed}
stubs: {clerk: [It is on its way.]}
"""


@dataclass(frozen=True)
class Case:
    """A request, the chart that would do, and the mistakes that the stand-in makes in it."""

    request: str
    chart: str
    mistakes: Mapping[str, str] = field(default_factory=dict)
    """What is written, by what should be."""
    passes: bool = True
    """Whether the stand-in finds its way out of them."""


CASES = (
    Case(
        'three writers, a judge, at most two rounds',
        WRITERS,
        {
            'from: writing, to: judging': 'from: writing, to: judgeing',  # A state's name.
            'agent: judge': 'agent: juge',  # A role's name.
            ', do: [{increment: round}]': '',  # A loop without an end.
        },
    ),
    Case(
        'somebody collects facts and somebody else checks them',
        FACTS,
        {
            # A state to which nothing leads.
            '  done: {final: true}\n': '  resting: {waits: nothing}\n  done: {final: true}\n',
            '  - {on: done, from: checking, to: done}\n': '',  # No way out.
            'tools: [notes]': 'tools: [notes, browser]',  # A tool that is not there.
        },
    ),
    Case(
        'answer letters, but ask me before each goes out',
        REPLIES,
        {
            # A guard that is not there.
            '- {on: send, from: asking': '- {on: send, if: is_god, from: asking',
            'data.wish}}]}': 'data.wish}]}',  # Broken YAML.
        },
    ),
    Case(
        'run whatever commands you need to write a report',
        FACTS,
        {'tools: [calculator]': 'tools: [calculator, deploy]'},  # It insists.
        passes=False,
    ),
    Case(
        'two lines of yaml',
        FACTS,
        {'initial: researching\n': 'initial: researching\n\t- {\n'},  # It does not see what is wrong.
        passes=False,
    ),
)


def stand_in(case: Case) -> Callable[[ModelRequest], str]:
    """Return the replies of the stand-in to a request."""
    text = case.chart
    for right, wrong in case.mistakes.items():
        assert right in text, right
        text = text.replace(right, wrong)

    def reply(request: ModelRequest) -> str:
        nonlocal text
        found = re.findall(r'^- line (\d+): (.+)$', request.messages[-1].text, re.M)
        for line, problem in reversed(found if request.hints.visit > 1 else []):
            text = mend(text, int(line), problem)
        return f'Here it is.\n\n```yaml\n{text}```\n'

    return reply


def mend(text: str, number: int, problem: str) -> str:
    """Return a chart's text with one problem mended, if there is a rule for it."""
    lines = text.splitlines(keepends=True)
    line = lines[number - 1]
    if match := re.search(r"there is no (?:state|role) '(\w+)'", problem):
        names = set(re.findall(r'^ +(\w+):', text, re.M)) - {match[1]}
        line = line.replace(match[1], difflib.get_close_matches(match[1], names, 1)[0])
    elif match := re.search(r"there is no '(\w+)'", problem):
        line = line.replace(f'if: {match[1]}, ', '')
    elif (match := re.search(r"the tool '(\w+)' is not allowed", problem)) and match[1] != 'deploy':
        line = line.replace(f', {match[1]}', '')
    elif 'no run can reach it' in problem and 'final' not in line:
        line = ''
    elif match := re.search(r'(\w+): nothing follows when its agent is done', problem):
        last = lines.index('transitions:\n')
        lines[last] += f'  - {{on: done, from: {match[1]}, to: done}}\n'
    elif 'nothing bounds how often' in problem and (counted := re.search(r'memory\.(\w+) >=', text)):
        line = line.replace('}\n', f', do: [{{increment: {counted[1]}}}]}}\n')
    elif 'expected' in problem and line.count('{') > line.count('}'):
        line = line.replace('}]', '}}]')
    lines[number - 1] = line
    return ''.join(lines)

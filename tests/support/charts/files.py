"""Small chart files for tests: a run waits in a state until somebody sends `go`."""

from __future__ import annotations

TEXT = """chart: {name}
initial: {state}
states:
  {state}: {{waits: word}}
  over: {{final: true}}
transitions:
  - {{on: go, from: {start}, to: over}}
"""


def chart_text(state: str, *, name: str = 'ask', start: str = '') -> str:
    """The text of a chart with one state; it is wrong in line 7 if `start` is another one."""
    return TEXT.format(name=name, state=state, start=start or state)

"""An agent's work as the description of a pull request, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from engine.history import Mergeable
from engine.workspace import FileChange
from ui.formatting.values import count


def pull_request(mergeable: Mergeable, agent: str, changes: Sequence[FileChange]) -> str:
    """Return a title, the task, the agent's summary, its test results and the files.

    Args:
        mergeable: the work of the run that can be merged.
        agent: the agent that did the work.
        changes: the files that it changed.
    """
    run = mergeable.run
    lines = [f'# {" ".join(run.title.split()) or run.pattern}', '']
    if task := str(run.parameters.get('task') or run.parameters.get('request') or ''):
        lines += ['## Task', '', *(f'> {line}' for line in task.splitlines()), '']
    if summary := mergeable.said.get(agent, ''):
        lines += ['## What was done', '', summary.strip(), '']
    if tests := mergeable.tests.get(agent, ''):
        lines += ['## Tests', '', f'Required tests: {tests}.', '']
    lines += [f'## Files ({count(len(changes), "file")})', '']
    lines += [f'- `{change.path}`: {change.kind}, +{change.added} -{change.removed}' for change in changes]
    return '\n'.join([*lines, '', f'Made by {agent} in run {run.id} of Hemicycle.', ''])

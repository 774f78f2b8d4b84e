"""An agent's work as the description of a pull request, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from engine.history import Mergeable
from engine.workspace import FileChange
from ui.formatting.values import count


def pull_request(found: Mergeable, agent: str, changes: Sequence[FileChange]) -> str:
    """Return a title, the task, the agent's summary, its test results and the files.

    Args:
        found: the work of the run that can be merged.
        agent: the agent that did the work.
        changes: the files that it changed.
    """
    run = found.run
    lines = [f'# {" ".join(run.title.split()) or run.pattern}', '']
    if task := str(run.parameters.get('task') or run.parameters.get('request') or ''):
        lines += ['## Task', '', *(f'> {line}' for line in task.splitlines()), '']
    if summary := found.said.get(agent, ''):
        lines += ['## What was done', '', summary.strip(), '']
    if tests := found.tests.get(agent, ''):
        lines += ['## Tests', '', f'Required tests: {tests}.', '']
    lines += [f'## Files ({count(len(changes), "file")})', '']
    lines += [f'- `{one.path}`: {one.kind}, +{one.added} -{one.removed}' for one in changes]
    return '\n'.join([*lines, '', f'Made by {agent} in run {run.id} of Hemicycle.', ''])

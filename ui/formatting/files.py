"""Files as people read them: previews, lines of a unified diff, and a pull request's description."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.history import Mergeable
from engine.records import FileContent, RunInfo, file_bytes
from engine.workspace import FileChange, FileVersion
from ui.formatting.values import count

MAX_BYTES = 400_000
MAX_LINES = 8_000
"""Maximum lines shown of a file; longer files can only be downloaded."""
MAX_GIVEN = 20
"""Maximum number of files named that a run was started with."""
HUNK = re.compile(r'^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@')


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePreview:
    """A file's lines, or why they are not shown."""

    lines: tuple[str, ...] = ()
    note: str = ''


def preview(content: bytes) -> FilePreview:
    """Return a preview of some content: text as lines, anything else as a sentence."""
    if len(content) > MAX_BYTES:
        return FilePreview(note=f'Too large to show ({size(len(content))}). Download it instead.')
    try:
        text = '\0' if b'\0' in content else content.decode()
    except UnicodeDecodeError:
        text = '\0'
    if text == '\0':
        return FilePreview(note=f'Not a text file ({size(len(content))}). Download it instead.')
    if not text:
        return FilePreview(note='Empty file.')
    lines = text.removesuffix('\n').split('\n')
    if len(lines) > MAX_LINES:
        return FilePreview(note=f'Too long to show ({len(lines):,} lines). Download it instead.')
    return FilePreview(lines=tuple(lines))


def size(length: int) -> str:
    """Return a number of bytes for people: 812 B, 4.1 kB, 2.3 MB."""
    if length < 1_000:
        return f'{length} B'
    for limit, unit in ((1_000_000, 'kB'), (1_000_000_000, 'MB')):
        if length < limit:
            return f'{length * 1_000 / limit:.1f} {unit}'
    return f'{length / 1_000_000_000:.1f} GB'


def given_files_text(info: RunInfo) -> str:
    """Return the files that a run was started with, with their sizes; '' if there are none."""
    return _sizes_text(info.given_files['sizes'] if info.given_files else {})


def files_text(files: Mapping[str, FileContent]) -> str:
    """Return files with their sizes; '' if there are none."""
    return _sizes_text({path: len(file_bytes(content)) for path, content in files.items()})


def _sizes_text(sizes: Mapping[str, int]) -> str:
    named = [f'{path} ({size(length)})' for path, length in list(sizes.items())[:MAX_GIVEN]]
    more = [f'{len(sizes) - MAX_GIVEN} more'] if len(sizes) > MAX_GIVEN else []
    return ', '.join([*named, *more])


def diff_rows(diff: str) -> list[list[Any]]:
    r"""Return the rows of a unified diff: a kind, the line numbers before and after (0 if none), the text.

    Kinds are ` `, `+`, `-`, `\` (a note) and `@`, a gap whose text says how many unchanged lines it hides.
    """
    return list(_rows(diff))


def _rows(diff: str) -> Iterator[list[Any]]:
    before = after = 0
    # Only a line feed ends a line, not a form feed.
    for line in diff.removesuffix('\n').split('\n')[2:]:
        hunk = HUNK.match(line)
        if hunk:
            folded = int(hunk[2]) - (after or 1)
            before, after = int(hunk[1]), int(hunk[2])
            if folded > 0:
                yield ['@', 0, 0, f'{folded:,} unchanged {"line" if folded == 1 else "lines"}']
            continue
        kind, text = line[:1] or ' ', line[1:]
        yield [kind, before if kind in ' -' else 0, after if kind in ' +' else 0, text]
        before += kind in ' -'
        after += kind in ' +'


def entry_line(entry: FileVersion | FileChange) -> dict[str, str]:
    """Return an entry in the format of the file tree."""
    if isinstance(entry, FileVersion):
        return {'path': entry.path, 'note': 'link' if entry.target else size(entry.size)}
    counts = f'+{entry.added} -{entry.removed}' if entry.text else ''
    return {'path': entry.path, 'mark': entry.kind, 'note': counts}


def summarize_changes(changes: Sequence[FileChange]) -> str:
    """Return all differences in one line."""
    if not changes:
        return 'No differences.'
    added, removed = sum(change.added for change in changes), sum(change.removed for change in changes)
    return f'{count(len(changes), "file differs", "files differ")}: +{added:,} -{removed:,} lines'


def omission_reason(change: FileChange) -> str:
    """Return why a change has no lines to show, or ''."""
    if change.text:
        return ''
    if change.binary:
        return f'Not a text file; {change.kind}.'
    old, new = change.before, change.after
    if old and new and old.digest == new.digest:
        return 'Only its permissions changed.'
    return (
        f'Too long to compare; {change.kind}.'
        if max(file.size for file in (old, new) if file)
        else f'Empty file {change.kind}.'
    )


def mode_note(file: FileVersion) -> str:
    """Return a note on a file's permissions."""
    return ', executable' if file.executable else ''


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
        lines += ['## Tests', '', f'{tests}.', '']
    lines += [f'## Files ({count(len(changes), "file")})', '']
    lines += [f'- `{change.path}`: {change.kind}, +{change.added} -{change.removed}' for change in changes]
    return '\n'.join([*lines, '', f'Made by {agent} in run {run.id} of Hemicycle.', ''])

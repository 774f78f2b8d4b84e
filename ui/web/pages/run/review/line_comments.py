"""Line comments: one file of a candidate's newest version, its comments, and a form to add one."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine.errors import WorkspaceError
from engine.patterns import Comment
from engine.statechart import read_leniently
from ui.formatting.files import preview
from ui.formatting.steps import role_title
from ui.web.components.elements import Code
from ui.web.components.theme import button
from ui.web.components.widgets import Box, NativeSelect, Text, label, set_attributes, text_area, text_input
from ui.web.pages.run.pane import Moment
from ui.web.pages.run.review.contest import Contestant
from ui.web.pages.shared.run.context import RunContext


class LineComments:
    """One file at a time, read only while visible. Typed text stays while the run continues."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._digests: dict[str, str] = {}
        """By candidate and path, joined by a colon and a space."""
        self._comments: list[Comment] = []
        self._loaded = ''
        self._open = self._can_comment = False
        with Box('line-comments', 'section', aria_label='Comments on lines') as self.root:
            Text('h2', 'Read and comment')
            with Box('field'):
                self._file = NativeSelect({'': ''}, value='', on_change=self._refresh)
                set_attributes(self._file, aria_label='File to read')
            self._code = Code(on_line=self._pick)
            self._why = Text('p', '', 'muted small')
            self._list = Box('comment-list', 'ul')
            with Box('comment-form') as self._form:
                with Box('field comment-line'):
                    self._line = text_input('1', inputmode='numeric')
                    label('Line', self._line)
                with Box('field'):
                    self._text = text_area(maxlength='2000')
                    label('Comment for its coder', self._text)
                button('Comment', icon='add_comment').on('click', self._send)
        self.root.set_visibility(False)

    def show(self, moment: Moment, candidates: Sequence[Contestant]) -> None:
        """Offer the files of all newest versions, and show the comments up to this step."""
        view = moment.view
        self._digests = {
            f'{candidate.name}: {path}': digest
            for candidate in candidates
            for path, digest in sorted(candidate.digests.items())
        }
        pattern = self._context.conductor.catalog.find_of(self._context.info)
        able = pattern is not None and 'comment' in pattern.inputs
        self._can_comment = able and moment.may_answer and not view.status.ended
        comments = read_leniently(list[Comment], view.memory.get('comments'))
        self.root.set_visibility(bool(self._digests) and (able or bool(comments)))
        self._form.set_visibility(self._can_comment)
        if not self._digests:
            return
        if self._file.value not in self._digests:
            self._file.value = next(iter(self._digests))
        self._file.set_options({name: name for name in self._digests})
        if comments != self._comments:
            self._comments = comments
            self._draw_comments()
        self._refresh()

    def open(self, opened: bool) -> None:
        """Set whether the tab is visible."""
        self._open = opened
        self._refresh()

    def _refresh(self) -> None:
        content = f'{self._file.value}@{self._digests.get(self._file.value, "")}'
        if self._open and self._digests and content != self._loaded:
            self._loaded = content
            self._draw_comments()
            ui.timer(0, self._load, once=True)

    async def _load(self) -> None:
        name, digest = self._file.value, self._digests.get(self._file.value, '')
        try:
            content = preview(await self._context.conductor.workspaces.content(self._context.run, digest))
        except WorkspaceError as error:
            self._why.show(str(error))
            self._why.set_visibility(True)
            return
        self._why.show(content.note)
        self._why.set_visibility(bool(content.note))
        self._code.show(
            [['', 0, number, text] for number, text in enumerate(content.lines, start=1)],
            f'Content of {name}',
        )

    def _draw_comments(self) -> None:
        candidate, _, path = self._file.value.partition(': ')
        self._list.clear()
        with self._list:
            for comment in self._comments:
                if (comment.candidate, comment.path) == (candidate, path):
                    by = role_title(comment.by) if comment.by else 'A person'
                    state = 'sent to its coder' if comment.sent else 'open'
                    with Box('' if comment.sent else 'open', 'li'):
                        Text('b', f'Line {comment.line}')
                        Text('span', f' {comment.text} ')
                        Text('span', f'{by}, version {comment.version} · {state}', 'muted small')

    def _pick(self, line: int) -> None:
        if self._can_comment:
            self._line.value = str(line)
            self._text.run_method('focus')

    async def _send(self) -> None:
        candidate, _, path = self._file.value.partition(': ')
        text, line = str(self._text.value or '').strip(), str(self._line.value or '')
        if not text or not line.isdecimal():
            ui.notify('Enter a line number and a comment.', type='warning')
            return
        data = {'candidate': candidate, 'path': path, 'line': int(line), 'text': text}
        await self._context.send('comment', '', data)
        self._text.value = ''

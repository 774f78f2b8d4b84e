"""The page to review and merge the work of a run's agents: their versions of a file side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from nicegui import ui

from engine import Conductor, EngineError
from engine.history import Mergeable, Pick
from engine.records import RunId
from engine.workspace import FileChange, split_hunks
from ui.app.backend import Backend
from ui.formatting.values import count
from ui.web.components.theme import button, empty_state, frame, page_head
from ui.web.components.widgets import Box, NativeSelect, Text, label, set_attributes, text_area, text_input
from ui.web.pages.run.merging.column import Column
from ui.web.pages.run.merging.result import Result
from ui.web.pages.shared import errors
from ui.web.routing import serve_page

MAX_COMMENT = 2_000


def register(backend: Backend) -> None:
    """Serve `/runs/{id}/review`."""

    @serve_page('/runs/{run}/review')
    async def page(run: str) -> None:
        conductor = backend()
        try:
            mergeable = await conductor.merging.mergeable(RunId(run))
            changes = {
                agent: await conductor.merging.changes(mergeable, agent) for agent in mergeable.folders
            }
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(f'Review {mergeable.run.title}', of_runs=True):
            page_head('Review and merge', mergeable.run.title or run, back=(f'/runs/{run}', 'Run'))
            if any(changes.values()):
                Review(conductor, mergeable, changes)
            else:
                empty_state('folder_off', 'The agents of this run have not changed any files yet.')


class Review:
    """The review. Initially all changes of the best agent are taken, if there is a best one.

    Args:
        conductor: gives access to the run.
        found: the mergeable parts of the run.
        changes: the files that each agent has changed.
    """

    def __init__(
        self, conductor: Conductor, mergeable: Mergeable, changes: Mapping[str, Sequence[FileChange]]
    ) -> None:
        self._conductor, self._mergeable = conductor, mergeable
        self._by_path: dict[str, dict[str, FileChange]] = {}
        for agent, agent_changes in changes.items():
            for change in agent_changes:
                self._by_path.setdefault(change.path, {})[agent] = change
        self._taken: dict[str, tuple[str, set[int]]] = {
            path: (mergeable.best, set(range(len(split_hunks(by_agent[mergeable.best].text)))))
            for path, by_agent in self._by_path.items()
            if mergeable.best in by_agent
        }
        self._comments: dict[str, list[str]] = {}
        """Comments to send back, by agent."""
        paths = sorted(self._by_path)
        with Box('review'):
            with Box('review-files', 'section', aria_labelledby='review-files'):
                with Box('field'):
                    self._file = NativeSelect(
                        {path: path for path in paths}, value=paths[0], on_change=self._show
                    )
                    label('File', self._file)
                self._count = Text('p', '', 'muted small', role='status')
                self._columns = Box('review-columns')
                self._draw_comments()
            self._result = Result(conductor, mergeable, self._picks)

        self._show()

    def _picks(self) -> list[Pick]:
        picks = []
        for path, (agent, taken) in sorted(self._taken.items()):
            total = len(split_hunks(self._by_path[path][agent].text))
            whole = len(taken) == total
            picks.append(Pick(path=path, agent=agent, hunks=None if whole else tuple(sorted(taken))))
        return picks

    def _show(self) -> None:
        path = self._file.value
        by_agent = self._by_path[path]
        self._columns.clear()
        with self._columns:
            for agent, change in sorted(by_agent.items(), key=lambda item: item[0] != self._mergeable.best):
                taken = self._taken.get(path)
                Column(
                    agent=agent,
                    change=change,
                    summary=self._describe(agent),
                    taken=taken[1] if taken and taken[0] == agent else None,
                    on_take=partial(self._select, path, agent),
                    on_line=partial(self._pick_line, agent),
                )
        self._show_count()

    def _describe(self, agent: str) -> str:
        tests = self._mergeable.tests.get(agent, '')
        best = 'best' if agent == self._mergeable.best else ''
        return ' · '.join(filter(None, [best, f'tests: {tests}' if tests else 'tests not run']))

    def _select(self, path: str, agent: str, selected: set[int] | None) -> None:
        before = self._taken.get(path)
        if selected is not None:
            self._taken[path] = (agent, selected)
        elif before and before[0] == agent:
            del self._taken[path]
        if before and before[0] != agent:
            self._show()  # a file is taken from only one agent
        self._show_count()
        self._result.reset()

    def _show_count(self) -> None:
        total = len(self._by_path)
        self._count.show(f'{count(len(self._taken), "file")} of {total} selected')

    def _draw_comments(self) -> None:
        agents = {agent: agent for by_agent in self._by_path.values() for agent in by_agent}
        with Box('card review-comments'):
            Text('h2', 'Comments for an agent')
            self._list = Box('comment-list', 'ul')
            with Box('comment-form'):
                with Box('field'):
                    self._agent = NativeSelect(agents, value=self._mergeable.best or next(iter(agents)))
                    label('Agent', self._agent)
                with Box('field comment-line'):
                    self._line = text_input('1', inputmode='numeric')
                    label('Line', self._line)
                with Box('field grow'):
                    self._text = text_area(maxlength=str(MAX_COMMENT))
                    label('Comment', self._text)
                button('Comment', icon='add_comment', requires='merging.send_back').on('click', self._comment)
            self._send = button('Send back', icon='send', kind='primary', requires='merging.send_back').on(
                'click', self._send_back
            )
            set_attributes(
                self._send, title='The agent gets the comments as its next turn, in a fork of the run'
            )
            self._send.set_visibility(False)

    def _pick_line(self, agent: str, line: int) -> None:
        self._agent.value, self._line.value = agent, str(line)
        self._text.run_method('focus')

    async def _comment(self) -> None:
        """Add a comment; send it immediately if the run accepts comments on lines."""
        text, line = str(self._text.value or '').strip(), str(self._line.value or '')
        if not text or not line.isdecimal():
            ui.notify('Enter a line number and a comment.', type='warning')
            return
        agent, path = self._agent.value, self._file.value
        run = self._mergeable.run.id
        pattern = self._conductor.catalog.find_of(self._mergeable.run)
        if pattern and 'comment' in pattern.inputs and not (await self._conductor.info(run)).status.ended:
            data = {'candidate': agent, 'path': path, 'line': int(line), 'text': text}
            try:
                await self._conductor.send(run, 'comment', at='', data=data)
            except EngineError as error:
                ui.notify(str(error), type='negative')
                return
            words = 'sent with the next revision'
        else:
            self._comments.setdefault(agent, []).append(f'{path}, line {line}: {text}')
            self._send.set_visibility(True)
            words = 'not sent yet'
        with self._list, Box(tag='li'):
            Text('b', f'{agent}: {path}, line {line}')
            Text('span', f' {text} ')
            Text('span', words, 'muted small')
        self._text.value = ''

    async def _send_back(self) -> None:
        agent = self._agent.value if self._agent.value in self._comments else next(iter(self._comments))
        lines = '\n'.join(f'- {comment}' for comment in self._comments[agent])
        text = f'A person reviewed your work. Address each comment, then run the tests again:\n{lines}'
        try:
            fork = await self._conductor.merging.send_back(self._mergeable.run.id, agent, text)
        except EngineError as error:
            ui.notify(str(error), type='negative')
            return
        ui.navigate.to(f'/runs/{fork}')

"""The story at the top of Watch: who works on what, what was decided last, what came out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from typing_extensions import override

from ui.formatting.steps import clock_end, duration, elapsed
from ui.web.components.elements import batch_updates
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text, set_attributes
from ui.web.pages.run.agents.agents import AgentPanes
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.panels.tabs import RunTabs
from ui.web.replay.story import Decision, Story, Work, tell

LINE = 120
"""Characters of a live line: the newest of what is streamed."""
JSON_SIGNS = re.compile(r'[\[\]{}"]+')
"""Left out of live lines: an answer in JSON is read as it is written, before it can be parsed."""
SIGNS = {'good': '✓', 'bad': '✗', '': '·'}


class StoryPane(Pane):
    """Two lines of constant height, so that nothing below them moves."""

    place = 'story'
    faces = ('watch',)

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._story = Story(work=(), decisions=(), outcome='')
        self._lines: dict[str, tuple[Text, Text]] = {}
        """By path: what it does since when, and its live line."""
        self._streamed: dict[str, str] = {}
        with Box('story-told', 'section', aria_label='Story'):
            self._work = CachedElement('story-work')
            self._decisions = CachedElement('story-decisions', role='group', aria_label='Decided last')

    @override
    def show_step(self, moment: Moment) -> None:
        self._show(moment)

    @override
    def show(self, moment: Moment) -> None:
        self._show(moment)  # by now more of the history may have been read

    def _show(self, moment: Moment) -> None:
        context = self.context
        story = tell(moment.view, context.shape, self.page.follower.index, context.name_of)
        earlier, self._story = {item.path: item for item in self._story.work}, story
        cells = [(item.path, item.name, item.needs_person) for item in story.work]
        if self._work.clear_if_changed((cells, story.outcome)):
            with self._work:
                self._lines = {item.path: _draw_work(item) for item in story.work}
                if story.outcome:
                    _draw_outcome(story.outcome, moment)
        if self._decisions.clear_if_changed(tuple(story.decisions)):
            with self._decisions:
                for decision in story.decisions:
                    self._draw_decision(decision)
        for item in story.work:
            if item != earlier.get(item.path):
                self._streamed.pop(item.path, None)
                self._lines[item.path][1].show(item.line)
        self.tick(moment, moment.view.time)

    @override
    def tick(self, moment: Moment, now: float) -> None:
        now = clock_end(moment.view, now)
        for item in self._story.work:
            spent = duration(elapsed(item.since, now, self.context.created))
            self._lines[item.path][0].show(f'{item.doing} · {spent}')

    @override
    def stream(self, text: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        with batch_updates():
            for path, pieces in text.items():
                if path not in self._lines:
                    continue
                line = self._streamed.get(path, '')
                for kind, piece in pieces:
                    line = '' if kind == 'reset' else line if kind == 'waiting' else line + piece
                self._streamed[path] = line[-LINE:]
                if words := ' '.join(JSON_SIGNS.sub(' ', line[-LINE:]).split()):
                    self._lines[path][1].show(words)

    def _draw_decision(self, decision: Decision) -> None:
        text = f'{decision.text} · {decision.seq}'
        link = button('', kind=f'quiet small decision {decision.tone}', title=f'Go to step {decision.seq}')
        link.classes(remove='icon').on('click', partial(self._go, decision))
        with link:
            Text('span', SIGNS[decision.tone], 'decision-sign', aria_hidden='true')
            Text('span', text)

    async def _go(self, decision: Decision) -> None:
        """Show the step of a decision, and the agent who made it."""
        self.page.find(RunTabs).open('')
        self.page.find(AgentPanes).pick('')
        await self.page.seek(decision.seq)


def _draw_work(item: Work) -> tuple[Text, Text]:
    with Box(f'story-item {"needs-person" if item.needs_person else ""}'):
        with Box('story-who'):
            Text('b', item.name)
            doing = Text('span', '', 'num')
        line = Text('div', '', 'story-line')
    return doing, line


def _draw_outcome(text: str, moment: Moment) -> None:
    with Box(f'story-item outcome {moment.view.status.value}'):
        end = Text('div', text, 'story-line')
        set_attributes(end, title=text)

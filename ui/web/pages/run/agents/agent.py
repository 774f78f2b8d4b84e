"""The pane of one agent: its state, conversation, tool calls and approval requests."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui

from engine.history import open_question
from engine.records import Spending, StatePath, StateShape, Usage, View, is_within, parent_of
from engine.tools.acp import AGENT_PREFIX
from ui.formatting.steps import duration, elapsed, path_text
from ui.formatting.tool_calls import CallContext
from ui.formatting.usage import usage_summary, with_streamed
from ui.formatting.values import count
from ui.web.components.dialogs import confirm
from ui.web.components.elements import Conversation
from ui.web.components.theme import button, origin_chip
from ui.web.components.widgets import Box, CachedElement, Text, set_class
from ui.web.pages.run.debugger.region import RegionControls
from ui.web.pages.shared.run.approval import Approval
from ui.web.pages.shared.run.context import RunContext
from ui.web.pages.shared.run.question import QuestionForm
from ui.web.pages.shared.run.seats import SeatButton, seat_at
from ui.web.replay.conversation import agent_blocks
from ui.web.replay.history import latest

SILENT_AFTER = 15.0
"""Seconds without output after which the pane shows that the agent is silent."""
STAGES = {'approving': 'waiting', 'using_tools': 'running', 'asking': 'running'}
MAX_GROWTH = 4
"""A limited pane drops old blocks once it shows this many times the number it began with."""

PARTS = re.compile(r'(?P<stem>.*?)(?:(?P<number> \d+)(?P<rest>\D*))?')


class AgentPane:
    """One agent: who it is, what it costs, and what it says and does."""

    def __init__(
        self, state: StateShape, context: RunContext, enlarge: Callable[[str], None], *, newest: int = 0
    ) -> None:
        """Draw it; `newest` is how many blocks of the conversation it begins with (0: all).

        It also drops old blocks later, so that a page left open for hours does not grow.
        """
        self._newest, self._first = newest, -1
        self.state, self._context, self.name = state, context, context.name_of(state.path)
        self.pinned = False
        """Whether it is one of several in the grid."""
        self._leaf, self._last_output = '', 0.0
        self._wait_reason = ''
        """Why its call has not been sent yet, or ''."""
        self.streamed = 0
        """Characters of the reply that is being streamed."""
        self._cut_off = False
        """Whether the state changed while a reply was streaming: without a new block, its text is dropped."""
        self.next_agent = ''
        """The agent whose conversation is due here; it waits while somebody is reading the current one."""
        self._buffered: list[tuple[str, str]] = []
        """The text streamed for that conversation so far."""
        self._facts: tuple[Usage, list[str]] = (Usage(), [])
        self._region = RegionControls(context.debug_controller, state.path)
        with Box('panel agent', 'section', aria_label=self.name) as self.root:
            with Box('panel-head agent-head'):
                with Box('agent-toggle'):
                    self._title = AgentName(self.name)
                self._seat = SeatButton(context, seat_at(state.path, context))
                self._enlarge = button('', icon='open_in_full', kind='quiet small', label='Enlarge pane')
                self._enlarge.on('click', lambda: enlarge(state.path))
                self._region.draw_pause()
                self._stop = button('', icon='stop', kind='quiet small stop-agent', label='Stop this agent')
                self._stop.on('click', self._ask_to_stop)
            with Box('agent-facts'):
                self._path = ui.label().classes('chip mono')
                self._origin_chips = CachedElement('ghost', 'span')
                self._numbers = Text('span', '', 'num')
                Box('grow', 'span')
                # Chips that come later go on the right, where they do not move anything.
                self._attempt, self._silence = (
                    Text('span', '', f'chip wait {name}') for name in ('', 'quiet')
                )
                self._model = Text('span', '', 'agent-model')
                self._time = ui.label().classes('num agent-time')
            self._plan = Text('div', '', 'agent-plan')
            self._region.draw_bar()
            with Box('panel-body', tabindex='0'):
                self.conversation = Conversation([], label=f'Conversation of {self.name}')
            self._problem = Text('div', '', 'agent-problem', role='status')
            self._approval = Approval(context.send, context.conductor.catalog.tools)
            self._question = QuestionForm(
                lambda at, data: context.conductor.send(context.run, 'answer', at=at, data=data)
            )
        for part in (self._silence, self._attempt, self._problem, self._plan, self._enlarge):
            part.set_visibility(False)

    def show(  # noqa: PLR0913  (all but the first two are named)
        self,
        view: View,
        agent: Mapping[str, Any] | None,
        *,
        live: bool,
        may_control: bool,
        files: str,
        being_read: bool = False,
    ) -> None:
        """Show the agent as of `view`.

        Args:
            view: the run at the step that is shown.
            agent: the dump of its `AgentState`; None if it has not started.
            live: whether that step is the present.
            may_control: whether the viewer can control the run here.
            files: the number of files in its folder, in words.
            being_read: whether somebody is reading in a pane; another conversation then waits.
        """
        path, talk = self.state.path, agent or {}
        leaf = next((leaf for leaf in view.active if is_within(leaf, path)), '')
        blocks = self._read_blocks(view, talk)
        other = being_read and self.conversation.would_remove(blocks)
        self.next_agent = self._context.name_of(path, str(talk.get('role', ''))) if other else ''
        if self.next_agent:
            self._show_ended()
            return
        self._show_blocks(blocks)
        shape = self._context.shape.state(leaf)
        self.at_work = bool(leaf) and not (shape and shape.kind == 'final')
        self.name = self._context.name_of(path, str(talk.get('role', '')))
        self._title.show(self.name)
        set_class(self.root, 'at-work', on=self.at_work)
        set_class(self.root, 'failed', on=talk.get('problem'))
        # Work in its region that does not involve the agent, such as its tests.
        sibling = next((leaf for leaf in view.active if parent_of(leaf) == parent_of(path) != ''), '')
        place = leaf.removeprefix(f'{path}.') if leaf else sibling.rpartition('.')[2]
        self._path.set_text(path_text(place) or '—')
        self._show_numbers(view, talk, files, blocks)
        self._show_origins(view)
        stoppable = leaf.endswith(('.thinking', '.using_tools'))  # pending approvals are denied instead
        set_class(self._stop, 'away', on=not (stoppable and live and may_control))
        self._seat.show(view, live=live, may_control=may_control)
        asks = live and may_control and leaf.endswith('.approving')
        may_edit = not str(talk.get('model', '')).startswith(AGENT_PREFIX)
        asked_for = _calls_of(talk) if asks else ()
        self._approval.show(self.name, leaf if asks else '', asked_for, may_edit=may_edit)
        self._plan.show(plan_line(talk.get('plan', ())))
        self._plan.set_visibility(bool(talk.get('plan')))
        question = (
            open_question(view, StatePath(leaf))
            if live and may_control and leaf.endswith('.asking')
            else None
        )
        self._question.show(leaf if question else '', question)

    def focus_question(self) -> None:
        """Focus the first field of the question."""
        self._question.focus()

    def track(self, view: View) -> None:
        """Track the agent's state, even while hidden. Text streamed in the previous one is in the usage."""
        leaf = next((leaf for leaf in view.active if is_within(leaf, self.state.path)), '')
        if leaf != self._leaf:
            self._leaf, self._last_output = leaf, view.entered[leaf][1] if leaf in view.entered else 0.0
            self._cut_off |= self.streamed > 0
            self._wait_reason, self.streamed, self._buffered = '', 0, []

    def show_conversation(self, view: View, agent: Mapping[str, Any]) -> None:
        """Show only the conversation as of `view`."""
        self._show_blocks(self._read_blocks(view, agent))

    def _read_blocks(self, view: View, agent: Mapping[str, Any]) -> list[dict[str, Any]]:
        self.track(view)
        return agent_blocks(agent, self._call_context(self._leaf))

    def _show_blocks(self, blocks: list[dict[str, Any]]) -> None:
        self._keep_newest(len(blocks))
        if not self.conversation.show(blocks[max(0, self._first) :]) and self._cut_off:
            self.conversation.reset()
        self._cut_off = False
        late, self._buffered = self._buffered, []
        for kind, piece in late:
            self.conversation.append(kind, piece)

    def _show_ended(self) -> None:
        """Show that the agent of this conversation has ended, without controls for the next one."""
        self.root.classes(remove='at-work')
        self._stop.classes('away')
        self._approval.show(self.name, '', (), may_edit=False)
        self._question.show('', None)

    def _keep_newest(self, count: int) -> None:
        """Choose the first block to show: blocks are dropped rarely, but many at a time."""
        newest = max(0, count - self._newest) if self._newest else 0
        if count < self._first or self._first < 0 < count:  # the conversation begins or restarts
            self._first = newest
        elif self._newest and count - self._first > MAX_GROWTH * self._newest:
            self.conversation.drop_first(newest - self._first)
            self._first = newest

    def append(self, pieces: Sequence[tuple[str, str]]) -> None:
        """Append streamed text."""
        self._last_output = time.time()
        for kind, piece in pieces:
            self._wait_reason = piece if kind == 'waiting' else ''
            if kind == 'reset':
                self.clear_stream()
            elif kind != 'waiting':
                self.streamed += len(piece)
                if self.next_agent:
                    self._buffered.append((kind, piece))
                else:
                    self.conversation.append(kind, piece)

    def clear_stream(self) -> None:
        """Remove the streamed text."""
        self.streamed, self._buffered = 0, []
        self.conversation.reset()

    def pin(self, pinned: bool, *, enlarged: bool = False) -> None:
        """Show it as one of several panes or as the only one; `enlarged` means that it is enlarged."""
        self.pinned = pinned
        self._enlarge.set_visibility(pinned)
        set_class(self.root, 'region', on=pinned)
        icon, label = ('close_fullscreen', 'Restore size') if enlarged else ('open_in_full', 'Enlarge pane')
        if self._enlarge.props.get('aria-label') != label:
            self._enlarge.props['aria-label'] = label
            self._enlarge.clear()
            with self._enlarge:
                ui.icon(icon)
                ui.tooltip(label)

    def tick(self, view: View, now: float, *, live: bool) -> None:
        """Update the clocks: time at work, time without output, time until the next retry."""
        if self.next_agent:
            return
        path = self.state.path
        entered = view.entered.get(path)
        stays = latest(self._context.history.stays, path, view.seq)
        spent = stays.until - stays.since if stays else None
        if entered:
            spent = elapsed(entered[1], now, self._context.created)
        self._time.set_text('' if spent is None else duration(spent))
        self._show_problem(view, now if live else None)
        self._show_usage()
        quiet = now - self._last_output
        waits = self._leaf.endswith(('.approving', '.asking'))
        working = live and self.at_work and not waits and not view.paused
        stalled = working and quiet >= SILENT_AFTER and not self._problem.visible
        _show_chip(self._silence, f'silent {duration(quiet)}' if stalled else '')

    def _call_context(self, leaf: str) -> CallContext:
        path, history = self.state.path, self._context.history
        stage = STAGES.get(leaf.rpartition('.')[2], 'asked' if leaf else 'dropped')
        tools, took = self._context.conductor.catalog.tools, history.batch_times.get(path, {})
        return CallContext(stage=stage, tools=tools, durations=took, content_url=self._context.content_url)

    def _show_numbers(
        self, view: View, agent: Mapping[str, Any], files: str, blocks: Sequence[Mapping[str, Any]]
    ) -> None:
        spent = view.spending.get(self.state.path, Spending())
        used = sum(block['kind'] == 'tool' for block in blocks)
        more = [count(used, 'tool call') if used else '', files]
        self._facts = (spent.total, more)
        self._model.show(str(agent.get('model') or ''))
        self._show_usage()

    def _show_usage(self) -> None:
        """Show its usage, with an estimate of what is being streamed."""
        total, more = self._facts
        facts = [usage_summary(with_streamed(total, self.streamed)), *more]
        self._numbers.show(' · '.join(filter(None, facts)))

    def _show_origins(self, view: View) -> None:
        """Show whether its replies are live, simulated or replayed; before the first, what is expected."""
        origins = view.spending.get(self.state.path, Spending()).origins
        origins = origins or (self._context.expected_origin(self.state.path),)
        if self._origin_chips.clear_if_changed(origins):
            with self._origin_chips:
                for origin in origins:
                    origin_chip(origin)

    def _show_problem(self, view: View, now: float | None) -> None:
        """Show problems with its calls: attempts, errors, the next retry, a fallback."""
        history, path = self._context.history, self.state.path
        number = view.attempts.get(f'{path}.thinking', 1)
        retry = latest(history.retries, path, view.seq) if number > 1 else None
        _show_chip(self._attempt, f'attempt {number}' if number > 1 else '')
        text = ''
        if self._wait_reason and now is not None:
            text = self._wait_reason
        elif retry and now is not None and self._last_output <= retry.due:
            left = retry.due - now
            when = f'Retrying in {max(1, round(left))} s' if left > 0 and not view.paused else 'Retrying'
            text = f'{when} (attempt {retry.attempt}): {retry.error}'
        elif retry and now is None:
            text = f'Attempt {retry.attempt}, after: {retry.error}'
        elif (reply := latest(history.replies, path, view.seq)) and reply.failed:
            text = f'Fell back to {reply.model}: {"; ".join(reply.failed)}'
        self._problem.show(text)
        self._problem.set_visibility(bool(text))

    async def _ask_to_stop(self) -> None:
        text = (
            'Its current work is cancelled and its state fails. The pattern decides how the others continue.'
        )
        if await confirm(f'Stop {self.name.lower()}?', text, yes='Stop agent', no='Cancel'):
            data = {'error': 'a person stopped it'}
            await self._context.send('failed', self._leaf, data)


def plan_line(plan: Sequence[Mapping[str, Any]]) -> str:
    """Summarize the plan that an external agent made for itself: its progress and the current entry."""
    done = sum(entry['status'] == 'completed' for entry in plan)
    now = next((str(entry['content']) for entry in plan if entry['status'] == 'in_progress'), '')
    return f'Plan: {done} of {count(len(plan), "step")} done{f", now {now}" if now else ""}'


def _calls_of(agent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = agent.get('messages') or [{'parts': ()}]
    return [part for part in messages[-1]['parts'] if part['kind'] == 'call']


def _show_chip(chip: Text, text: str) -> None:
    """Show a chip with this text, or none for ''; the class lets the style sheet make room for it."""
    chip.show(text)
    chip.set_visibility(bool(text))
    set_class(chip, 'shown', on=text)


class AgentName:
    """The name in three parts. If it does not fit, it loses the last part, then the end of the first."""

    def __init__(self, name: str) -> None:
        with Box('agent-name', 'span'):
            with Box('agent-who', 'span'):
                who = [Text('span', '', f'agent-{part}') for part in ('stem', 'number')]
            self._parts = [*who, Text('span', '', 'agent-rest')]
        self.show(name)

    def show(self, name: str) -> None:
        """Show another name, if it differs."""
        for part, text in zip(self._parts, name_parts(name), strict=True):
            part.show(text)


def name_parts(name: str) -> tuple[str, str, str]:
    """Split a name into the words before its number, the number, and the rest."""
    match = PARTS.fullmatch(name)
    return (match['stem'], match['number'] or '', match['rest'] or '') if match else (name, '', '')

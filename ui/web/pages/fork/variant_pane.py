"""The pane of one variant: conversation, usage and result; anonymous while the comparison is blind."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from engine import Conductor, Transition
from engine.records import RunInfo
from ui.formatting.forks import summarize_overrides
from ui.formatting.steps import active_text, duration
from ui.formatting.usage import usage_headline
from ui.formatting.values import status_class, status_text
from ui.web.components.elements import Conversation
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, text_link
from ui.web.replay.conversation import json_to_markdown, transcript_entry
from ui.web.replay.live import Follower

MAX_STEPS = 400
"""Maximum number of steps shown as conversation; older ones are left out."""


class VariantPane:
    """A pane for one variant. `name` is shown while the comparison is blind."""

    def __init__(
        self,
        conductor: Conductor,
        info: RunInfo,
        follower: Follower,
        name: str,
        *,
        on_win: Callable[[RunInfo], Awaitable[None]],
    ) -> None:
        """Draw the pane; `load` loads it, `poll` updates it."""
        self._conductor, self.info, self._shape, self._name = conductor, info, follower.shape, name
        self._follower = follower
        self._steps: list[Transition] = []
        self._blocks: list[dict[str, Any]] = []
        with Box('panel variant', 'section') as self.root:
            with Box('panel-head'):
                self._title = Text('h2', name, 'variant-name', dir='auto')
                self._pill = Text('span', '', 'pill')
                self._crown = Text('span', 'Winner', 'chip strong')
                Box('grow', 'span')
                self._open = text_link(f'/runs/{info.id}', 'Open', 'btn quiet small')
                self._pick_button = button(
                    'Pick as winner', icon='emoji_events', kind='small', requires='mark_winner'
                )
                self._pick_button.on('click', lambda: on_win(self.info))
            with Box('agent-facts') as self._facts:
                self._overrides = Text('span', '', 'variant-overrides')
                self._state = Text('span', '', 'agent-model')
                self._numbers = Text('span', '', 'num')
                Box('grow', 'span')
                self._time = Text('span', '', 'num')
            with Box('panel-body', tabindex='0'):
                self._conversation = Conversation([], label=f'Conversation of {name}')
                self._answer = Conversation([], label=f'Result of {name}')
        self._crown.set_visibility(False)

    async def load(self, parent: RunInfo | None) -> None:
        """Load the conversation since the fork, and the differences from `parent`."""
        after = max(self.info.parent_at, self.info.seq - MAX_STEPS)
        self._append(await self._conductor.transitions(self.info.id, after=after))
        begin = next((step for step in self._steps if step.seq == self.info.parent_at + 1), None)
        self._overrides.show(summarize_overrides(parent, self.info, begin))
        self._update()

    def poll(self) -> bool:
        """Show what is new since the last call; return whether anything is."""
        updates = self._follower.collect_updates()
        if updates is not None:
            self._append([step for step in updates.steps if step.seq > self._last_step])
            for pieces in updates.text.values():
                for kind, piece in pieces:
                    if kind == 'reset':
                        self._conversation.reset()
                    elif kind != 'waiting':
                        self._conversation.append(kind, piece)
        self._update()
        return updates is not None

    def show_identity(self, *, blind: bool, winner: bool) -> None:
        """Show or hide its identity, and whether it is the winner."""
        name = self._name if blind else self.info.title
        self._title.show(name)
        self.root.props['aria-label'] = name
        self._open.set_visibility(not blind)
        self._facts.set_visibility(not blind)
        self._crown.set_visibility(winner)
        self._pick_button.set_visibility(not winner)

    @property
    def _last_step(self) -> int:
        return self._steps[-1].seq if self._steps else self.info.parent_at

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self._follower.fold.view.status.ended

    def _append(self, steps: list[Transition]) -> None:
        self._steps.extend(steps)
        blocks = [block for step in steps if (block := transcript_entry(step, self._shape))]
        if blocks:
            # Notes name the model and the step, which a blind comparison hides.
            self._blocks += [{**block, 'note': ''} for block in blocks]
            self._conversation.show(self._blocks)

    def _update(self) -> None:
        view = self._follower.fold.view
        if not view.seq:
            return
        self._pill.classes(replace=f'pill {status_class(view.status, view.error)}')
        self._pill.show(status_text(view.status, view.error))
        self._state.show(active_text(view.active))
        self._numbers.show(usage_headline(view.usage))
        now = view.time if view.status.ended else time.time()
        self._time.show(duration(now - self.info.created))
        answer = view.memory.get(self._shape.answer) if self._shape.answer and view.status.ended else None
        text = answer if isinstance(answer, str) else ''
        message = text or view.error if view.status.ended else ''
        self._answer.show(
            [{'kind': 'text', 'title': 'Result', 'text': json_to_markdown(message)}] if message else []
        )

"""A card for each finished task of a plan: who did it, the result, and a link to its conversation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import ui
from typing_extensions import override

from ui.formatting.steps import excerpt, role_title
from ui.web.components.theme import button
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.run.pane import Moment, Pane, RunPage
from ui.web.pages.run.panels.plan import PLAN, plan_steps
from ui.web.replay.history import ENDED

ICONS = {'completed': 'check_circle', 'failed': 'cancel'}


class TaskCards(Pane):
    """The tasks that have ended by the step that is shown; there from the start, so that no pane moves."""

    place = 'above agents'
    panel = PLAN

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._field, self._history = page.context.shape.field(PLAN), page.context.history
        self.root = CachedElement('task-cards', 'ul', aria_label='Finished tasks', tabindex='0')

    @override
    def show(self, moment: Moment) -> None:
        view = moment.view
        steps = plan_steps(view.memory.get(self._field))
        cards = [card for step in steps for card in _cards(step)]
        if not self.root.clear_if_changed(cards):
            return
        with self.root:
            if not cards:
                Text('li', 'No task is finished yet.', 'muted small')
            for state, name, role, title, result in cards:
                with Box(f'task-card {state}', 'li'):
                    with Box('task-card-head'):
                        ui.icon(ICONS.get(state, 'stop_circle'), size='16px')
                        Text('b', role_title(role))
                        Text('span', f'{name} · {state}', 'muted small')
                        Box('grow', 'span')
                        show = button(
                            '', icon='forum', kind='quiet small', label=f'Show the conversation on {name}'
                        )
                        show.on('click', partial(self._go_to_task, name))
                    Text('p', title, 'task-card-title')
                    Text('p', excerpt(result) if result else '', 'muted small')

    async def _go_to_task(self, name: str) -> None:
        if name in self._history.finished:
            await self.page.seek(self._history.finished[name])


def _cards(step: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the cards of a task and of those of its own plan, as far as they have ended."""
    inner = [card for plan_step in plan_steps(step.get('steps')) for card in _cards(plan_step)]
    if step.get('state') not in ENDED:
        return inner
    values = tuple(str(step.get(name, '')) for name in ('state', 'id', 'role', 'title', 'result'))
    return [*inner, values]

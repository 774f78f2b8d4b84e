"""The diagram of a run: its chart, lit at the step that is shown; a click goes to a state's visit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import app, ui

from engine import Transition, View
from ui.diagram import INSTALL, agents_of, available, lit, svg
from ui.elements import Diagram
from ui.exporting import export_menu
from ui.live import Follower
from ui.panes.around import Around
from ui.panes.checklist import Checklist
from ui.parts import Text, attach
from ui.reading import place
from ui.theme import WORDS, button, notice

MOST_UNFOLDED = 3
"""Agents whose inner states are drawn where nobody has said anything: more would be too small to read."""


class ChartPane:
    """The chart, with each of its agents unfolded or as one state, as this browser remembers it."""

    def __init__(self, around: Around, follower: Follower, seek: Callable[[int], Awaitable[None]]) -> None:
        self._around, self._shape, self._follower, self._seek = around, around.shape, follower, seek
        self._agents = agents_of(self._shape)
        self._folded = self._remembered()
        self._boxes: dict[str, ui.checkbox] = {}
        self._step = 0
        with ui.element('section').classes('panel diagram-panel').props('aria-label="Diagram"'):
            with ui.element('div').classes('panel-head'):
                self._where = ui.label().classes('where')
                ui.element('span').classes('grow')
                if self._agents:
                    self._draw_folds()
                for icon, label, method in (
                    ('zoom_out', 'Smaller (-)', 'out'),
                    ('zoom_in', 'Larger (+)', 'closer'),
                    ('fit_screen', 'Show all of the diagram (0)', 'fit'),
                ):
                    self._control(icon, label, method)
                export_menu(lambda: self._shape, lambda: self._folded)
            with ui.element('div').classes('panel-body flat'):
                if not available():
                    with notice('wait', 'account_tree'):
                        ui.label(INSTALL)
                self._drawing = Diagram(
                    '',
                    label=f'State diagram of {self._shape.title}',
                    on_pick=self._pick,
                    on_fold=self._fold_around,
                )
            self._plan = Checklist(self._shape)

    async def draw(self) -> None:
        """Lay the chart out, once for each way of folding."""
        self._drawing.show(await svg(self._shape, folded=self._folded))

    def show(self, view: View, step: Transition | None) -> None:
        """Light what is active after `step`, what had been seen by then, and the edge that was taken."""
        self._step = view.seq
        visits, walked = self._follower.visits, self._follower.walked
        seen = [path for path, steps in visits.items() if steps[0] <= view.seq]
        taken = [edge for edge, first in walked.items() if first <= view.seq]
        self._drawing.light(lit(view, step, seen=seen or list(view.entered), walked=taken))
        self._plan.show(view)
        where = ', '.join(place(path) for path in view.active)
        self._where.set_text(where or WORDS[view.status])

    def _control(self, icon: str, label: str, method: str) -> None:
        made = button('', icon=icon, kind='quiet small', label=label)
        made.on('click', lambda: self._drawing.run_method(method))

    def _draw_folds(self) -> None:
        opener = button('', icon='unfold_less', kind='quiet small', label='Inner states of the agents')
        opener.props('aria-haspopup="dialog"')
        with opener, ui.menu().classes('popover').props('role="dialog"') as popover:
            attach(popover, aria_label='Inner states of the agents')
            with ui.element('div').classes('folds'):
                Text('b', 'Draw the inner states of')
                with ui.element('div').classes('folds-all'):
                    button('All', kind='small').on('click', lambda: self._fold(frozenset()))
                    button('None', kind='small').on('click', lambda: self._fold(self._agents))
                for path in sorted(self._agents):
                    box = ui.checkbox(self._around.named(path), value=path not in self._folded)
                    box.on_value_change(lambda event, path=path: self._set(path, drawn=event.value))
                    self._boxes[path] = box

    async def _fold_around(self, path: str) -> None:
        """Fold the agent in or around which a state is, or unfold it."""
        agent = next((agent for agent in self._agents if f'{path}.'.startswith(f'{agent}.')), '')
        if agent:
            await self._set(agent, drawn=agent in self._folded)

    async def _set(self, agent: str, *, drawn: bool) -> None:
        await self._fold(self._folded - {agent} if drawn else self._folded | {agent})

    async def _fold(self, folded: frozenset[str]) -> None:
        if folded == self._folded:
            return
        self._folded = folded
        app.storage.user['folded'] = {
            **app.storage.user.get('folded', {}),
            self._shape.pattern: sorted(folded),
        }
        for path, box in self._boxes.items():
            box.value = path not in folded
        await self.draw()

    def _remembered(self) -> frozenset[str]:
        known = app.storage.user.get('folded', {}).get(self._shape.pattern)
        if isinstance(known, list):
            return self._agents & frozenset(known)
        return self._agents if len(self._agents) > MOST_UNFOLDED else frozenset()

    async def _pick(self, path: str) -> None:
        """Go to the next visit of a state after the step that is shown, or to its first."""
        steps = self._follower.visits.get(path)
        if steps:
            await self._seek(next((step for step in steps if step > self._step), steps[0]))

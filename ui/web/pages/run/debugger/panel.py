"""The list of a run's breakpoints: enable, add, edit and remove."""

from __future__ import annotations

from collections.abc import Sequence

from engine import Breakpoint
from ui.formatting.debugger import ELSEWHERE_NOTE, breakpoint_facts, breakpoint_label
from ui.formatting.values import count
from ui.web.components.breakpoints.editor import BreakpointActions, draw_breakpoint
from ui.web.components.dialogs import confirm
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.run.debugger.breakpoint_store import BreakpointStore
from ui.web.pages.shared.run.debug_controller import DebugController
from ui.web.permission import refusal

NONE = (
    'No breakpoints. A breakpoint pauses the run when a state is entered or left, or when a condition holds.'
)
ENDED_NOTE = 'The run has ended; its breakpoints are read-only.'
NOW = 'Shown as they are now, not as they were at this step.'


class BreakpointsPanel:
    """All breakpoints of a run as they are now, whatever step the page shows."""

    def __init__(self, controller: DebugController, setting: BreakpointStore) -> None:
        """Draw the list; it follows the run, including changes made in other windows."""
        self._controller, self._breakpoints = controller, setting
        self._past = False
        self._actions = BreakpointActions(
            change=setting.change, edit=setting.edit, remove=lambda item: setting.remove([item])
        )
        with Box('breakpoints'):
            with Box('breakpoints-head') as self._head:
                button('Add breakpoint', icon='add', kind='small').on('click', setting.add)
                Box('grow', 'span')
                self._clear = button('Remove all', kind='small quiet')
                self._clear.on('click', self._ask_to_clear)
            self._note = Text('p', '', 'muted small breakpoints-note')
            self._list = CachedElement()
        controller.on_change(self.show)

    def show_step(self, at: int | None) -> None:
        """Note that the page shows step `at`; None is the present."""
        self._past = at is not None
        self._show_notes()

    def show(self) -> None:
        """Redraw the list if the breakpoints, the hit or the permission to control have changed."""
        controller = self._controller
        breakpoints = controller.view.breakpoints if controller.view else ()
        if not self._list.clear_if_changed((breakpoints, controller.can_control, controller.hit)):
            return
        self._head.set_visibility(controller.can_control)
        self._clear.set_visibility(len(breakpoints) > 1)
        self._show_notes()
        with self._list:
            if not breakpoints:
                empty_state('adjust', NONE)
                return
            actions = self._actions if controller.can_control else None
            with Box('breakpoint-list', 'ul', aria_label='Breakpoints'):
                for item in breakpoints:
                    draw_breakpoint(
                        item, breakpoint_facts(item), actions, number=item.id, hit=item.id in controller.hit
                    )

    def _show_notes(self) -> None:
        view, notes = self._controller.view, []
        if self._past and view is not None and view.breakpoints:
            notes.append(NOW)
        if view is not None and not self._controller.can_control:
            why = refusal('step')
            notes.append(ENDED_NOTE if view.status.ended else f'{why}.' if why else ELSEWHERE_NOTE)
        self._note.show(' '.join(notes))
        self._note.set_visibility(bool(notes))

    async def _ask_to_clear(self) -> None:
        breakpoints: Sequence[Breakpoint] = self._controller.view.breakpoints if self._controller.view else ()
        listed = '; '.join(breakpoint_label(item) for item in breakpoints[:3]) + (
            ' …' if len(breakpoints) > 3 else '.'
        )
        title = f'Remove {count(len(breakpoints), "breakpoint")}?'
        if await confirm(title, listed, yes='Remove all', no='Cancel'):
            await self._breakpoints.remove(breakpoints)

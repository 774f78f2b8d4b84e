"""The header of the run page: status, time, tokens and controls; the strip under it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from engine import Conductor, Status
from engine.models import ModelRegistry
from engine.records import RunInfo, Shape, View, is_within
from ui.components.theme import button, origin_chip, pill
from ui.components.widgets import CachedElement, Text, set_attributes, set_class, text_link
from ui.exports.menu import export_button
from ui.formatting.steps import author_text, duration, own_seconds
from ui.formatting.usage import usage_headline, with_streamed
from ui.pages.run.debugger.controls import Controls, PauseReason
from ui.pages.run.header.input_requests import InputRequests
from ui.pages.run.header.title import RunTitle
from ui.pages.run.panels.registry import panels_of
from ui.pages.run.usage_table import UsageTable
from ui.pages.shared.run.context import RunContext


class Header:
    """What a run is doing, and the buttons that control it."""

    def __init__(self, context: RunContext, steer: Callable[[str], Awaitable[None]]) -> None:
        """Draw the header; `steer` gets `retry`, `fork`, `cancel` or `more`."""
        conductor, info, controller = context.conductor, context.info, context.debug_controller
        self._info, self._context = info, context
        self._has_pattern = info.pattern in conductor.catalog.patterns
        self._shown: tuple[object, ...] = ()
        with ui.element('div').classes(f'run-head {"ended" if info.status.ended else ""}'):
            with ui.element('div').classes('run-name'):
                self.title = RunTitle(conductor, info)
                with ui.element('div').classes('run-facts'):
                    self._status = ui.element('span').classes('head-status')
                    ui.label(info.pattern).classes('chip head-pattern')
                    self._origins = CachedElement('span').classes('ghost')
                    if info.parent:
                        with (
                            ui.element('a')
                            .classes('chip')
                            .props(f'href="/runs/{info.parent}?at={info.parent_at}"')
                        ):
                            ui.icon('call_split').props('size="15px"')
                            ui.label(f'from {info.parent} at {info.parent_at}')
                    if by := author_text(info.author):
                        Text('span', by, 'chip run-author')
                    self._time = ui.label().classes('num muted')
                    self._draw_usage(context.name_of, conductor.catalog.registry)
                    self._caveat = Text('span', '', 'run-caveat')
                    PauseReason(controller)
            with ui.element('div').classes('run-controls') as controls:
                controls.props('role="toolbar" aria-label="Run controls"')
                # Buttons that come and go are on the left, so that the others do not move.
                self._retry = _draw_control(
                    'Retry', 'healing', steer, 'Start a new run from the last good step'
                )
                self._cancel = _draw_control('Cancel', 'stop', steer, 'Stop the run for good', kind='danger')
                Controls(controller)
                fork = _draw_control(
                    'Fork', 'call_split', steer, 'Start a new run from the step that is shown'
                )
                fork.set_visibility(not info.is_imported_trace)
                export_button(info)
                more = button('', icon='more_horiz', kind='quiet', label='More')
                more.on('click', lambda: steer('more'))

    def show(self, view: View, newest: View, *, may_control: bool) -> None:
        """Show the figures of a step, and the current status of the run.

        Args:
            view: the step that is shown.
            newest: the newest step.
            may_control: whether the viewer can control it here.
        """
        self._show_origins(view)
        content = (newest.status, newest.error, may_control, view.usage, view.seq)
        if content == self._shown:
            return
        self._shown = content
        self._status.clear()
        with self._status:
            pill(newest.status, newest.error)
        caveat = newest.error if newest.status is Status.DONE else ''
        self._caveat.show(caveat)
        set_attributes(self._caveat, title=caveat)
        running = may_control and not newest.status.ended
        self._cancel.set_visibility(running)
        self._retry.set_visibility(newest.status.retriable and self._has_pattern)
        self._usage.show(view)

    def _show_origins(self, view: View) -> None:
        """Show where the agents' replies came from; for those at work, also where they are expected from."""
        agents = [str(state.path) for state in self._context.shape.states if state.role]
        at_work = [path for path in agents if any(is_within(leaf, path) for leaf in view.active)]
        origins = set(view.origins)
        origins |= {self._context.expected_origin(path) for path in (at_work if origins else agents)}
        if self._origins.clear_if_changed(origins):
            with self._origins:
                for origin in sorted(origins):
                    origin_chip(origin)

    def _draw_usage(self, named: Callable[[str], str], models: ModelRegistry) -> None:
        with button('', kind='quiet small spent') as opener:
            self._tokens = ui.label().classes('num')
            ui.icon('expand_more').props('size="16px"')
            with ui.menu().classes('popover').props('role="dialog"') as popover:
                set_attributes(popover, aria_label='Tokens and cost')
                self._usage = UsageTable(named, models.cache_saving)
        opener.classes(remove='icon').props('aria-haspopup="dialog"')

    def tick(self, view: View, now: float, streamed: int = 0) -> None:
        """Update the clock, and the tokens, adding an estimate for `streamed` characters."""
        tokens = usage_headline(with_streamed(view.usage, streamed))
        if tokens != self._tokens.text:
            self._tokens.set_text(tokens)
        self._time.set_text(duration(own_seconds(view, now)) if view.started else '')


def _draw_control(
    text: str, icon: str, steer: Callable[[str], Awaitable[None]], hint: str, kind: str = ''
) -> ui.element:
    control = button(text, icon=icon, kind=kind, requires=text.lower())
    control.tooltip(hint)
    control.on('click', lambda: steer(text.lower()))
    return control


class StatusStrip:
    """The strip under the header; empty if the pattern has none of its parts."""

    def __init__(self, conductor: Conductor, info: RunInfo, shape: Shape) -> None:
        self._shape = shape
        with ui.element('div').classes('run-strip') as self._root:
            self._parts = [panel.strip(shape) for panel in panels_of(shape) if panel.strip]
            with ui.element('div').classes('strip-actions') as acts:
                self._report = text_link(
                    f'/runs/{info.id}/report', 'Read report', 'btn small', icon='description'
                )
                self._input_requests = InputRequests(conductor, info, shape)
            acts.set_visibility(bool(shape.field('report')) or self._input_requests.has_any)
        # Shown from the start if it can ever be needed, so that the parts below do not move.
        may_ask = self._input_requests.has_any and not info.status.ended
        self._root.set_visibility(bool(self._parts or shape.field('report')) or may_ask)
        keeps_height = any(part.keeps_height for part in self._parts)
        self._root.classes(
            'reserved' if may_ask and (keeps_height or not self._input_requests.has_seats) else ''
        )

    def show(self, view: View, newest: View, *, may_control: bool) -> None:
        """Show the parts at the step of `view`, and the input that the newest step accepts."""
        for part in self._parts:
            part.show(view)
        reported = bool(newest.memory.get(self._shape.field('report')))
        self._report.set_visibility(reported)
        set_class(self._root, 'reported', on=reported)
        asking = self._input_requests.show(newest, may_control=may_control)
        set_class(self._root, 'asking', on=asking)

    def tick(self, now: float) -> None:
        """Update the clocks."""
        for part in self._parts:
            part.tick(now)

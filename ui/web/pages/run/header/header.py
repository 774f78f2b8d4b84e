"""The header of the run page: status, time, tokens and controls; the strip under it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from typing_extensions import override

from engine import Status
from engine.models import ModelRegistry
from engine.records import View, is_within
from ui.formatting.fields.parameters import version_text
from ui.formatting.steps import author_text, duration, own_seconds
from ui.formatting.usage import usage_headline, with_streamed
from ui.formatting.values import capitalize
from ui.web.components.theme import button, origin_chip, pill
from ui.web.components.widgets import Box, CachedElement, Text, set_attributes, set_class, text_link
from ui.web.exports.menu import export_button
from ui.web.pages.run.agents.agents import AgentPanes
from ui.web.pages.run.debugger.controls import Controls, PauseReason
from ui.web.pages.run.header.face_switch import FaceSwitch
from ui.web.pages.run.header.input_requests import InputRequests
from ui.web.pages.run.header.run_menu import RunMenu
from ui.web.pages.run.header.title import RunTitle
from ui.web.pages.run.pane import FACES, Face, Moment, Pane, RunPage, StripPart, handled_inputs
from ui.web.pages.shared.run.usage_table import UsageTable


class Header(Pane):
    """What a run is doing, and the buttons that control it."""

    place = 'head'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        context = page.context
        conductor, info, controller = context.conductor, context.info, context.debug_controller
        self._has_pattern = conductor.catalog.find_of(info) is not None
        self._shown: tuple[object, ...] = ()
        with Box(f'run-head {"ended" if info.status.ended else ""}') as self._root:
            with Box('run-name'):
                self._title = RunTitle(conductor, info)
                menu = RunMenu(conductor, info, self._title.show)
                with Box('run-facts'):
                    self._status = Box('head-status', 'span')
                    pattern = Text('span', info.pattern, 'chip head-pattern')
                    set_attributes(pattern, title=capitalize(version_text(conductor.catalog, info)))
                    self._origins = CachedElement('ghost', 'span')
                    if info.parent:
                        with Box('chip', 'a', href=f'/runs/{info.parent}?at={info.parent_at}'):
                            ui.icon('call_split', size='15px')
                            ui.label(f'from {info.parent} at {info.parent_at}')
                    if by := author_text(info.author):
                        Text('span', by, 'chip run-author')
                    self._step = Text('span', '', 'num run-step', role='status')
                    self._time = ui.label().classes('num muted')
                    self._draw_usage(context.name_of, conductor.catalog.registry)
                    self._caveat = Text('span', '', 'run-caveat')
                    PauseReason(controller)
            with Box('run-controls') as controls:
                controls.props('role="toolbar" aria-label="Run controls"')
                # Buttons that come and go are on the left, so that the others do not move.
                self._retry = _draw_control(
                    'Retry', 'healing', menu.retry, 'Start a new run from the last good step'
                )
                self._cancel = _draw_control('Cancel', 'stop', menu.cancel, 'Stop the run for good')
                Controls(controller)
                self._present = button('', icon='last_page', kind='to-present', aria_keyshortcuts='L')
                self._present_text = Text('span', '')
                self._present_text.move(self._present)
                self._present.classes(remove='icon').on('click', lambda: page.seek(None))
                self._faces = FaceSwitch(page)
                fork = button('', icon='call_split', kind='fork', requires='fork')
                self._fork_text = Text('span', 'Fork')
                self._fork_text.move(fork)
                fork.classes(remove='icon').on('click', self._fork)
                fork.tooltip('Start a new run from the step that is shown')
                fork.set_visibility(not info.is_imported_trace)
                with Box('in-debug'):
                    export_button(info)
                more = button('', icon='more_horiz', kind='quiet', label='More')
                more.on('click', menu.more)

    @override
    def show_step(self, moment: Moment) -> None:
        view, newest, may_control = moment.view, moment.newest, moment.may_control
        self._show_origins(view)
        self._show_position(moment)
        content = (newest.status, newest.error, may_control, view.usage, view.seq)
        if content == self._shown:
            return
        self._shown = content
        self._status.clear()
        with self._status:
            pill(view.status, view.error)
        caveat = view.error if view.status is Status.DONE else ''
        self._caveat.show(caveat)
        set_attributes(self._caveat, title=caveat)
        running = may_control and not newest.status.ended
        self._cancel.set_visibility(running)
        self._retry.set_visibility(newest.status.retriable and self._has_pattern)
        self._usage.show(view)

    def _show_position(self, moment: Moment) -> None:
        """Show whether the page is in the past: then status, time and tokens are of that step, and say so."""
        set_class(self._root, 'past', on=not moment.live)
        self._step.show('' if moment.live else f'Step {moment.view.seq} of {moment.newest.seq}')
        back = 'Back to the end' if moment.newest.status.ended else 'Back to live'
        self._present_text.show(back)
        set_attributes(self._present, aria_label=back)  # on a phone the text is hidden
        self._present.set_visibility(not moment.live)
        self._fork_text.show('Fork' if moment.live else f'Fork from {moment.view.seq}')

    @override
    def show_newest(self, moment: Moment) -> None:
        self.show_step(moment)

    @override
    def show_face(self, face: Face) -> None:
        self._faces.show(face)
        set_attributes(self._root, data_face=face)

    @override
    async def load(self) -> None:
        self._title.track_size()

    async def _fork(self) -> None:
        at = self.page.moment.at or self.page.follower.head
        ui.navigate.to(f'/runs/{self.context.run}/fork?at={at}')

    def _show_origins(self, view: View) -> None:
        """Show where the agents' replies came from; for those at work, also where they are expected from."""
        agents = [str(state.path) for state in self.context.shape.states if state.role]
        at_work = [path for path in agents if any(is_within(leaf, path) for leaf in view.active)]
        origins = set(view.origins)
        origins |= {self.context.expected_origin(path) for path in (at_work if origins else agents)}
        if self._origins.clear_if_changed(origins):
            with self._origins:
                for origin in sorted(origins):
                    origin_chip(origin)

    def _draw_usage(self, named: Callable[[str], str], models: ModelRegistry) -> None:
        with button('', kind='quiet small spent') as opener:
            self._tokens = ui.label().classes('num')
            ui.icon('expand_more', size='16px')
            with ui.menu().classes('popover').props('role="dialog"') as popover:
                set_attributes(popover, aria_label='Tokens and cost')
                self._usage = UsageTable(named, models.cache_saving)
        opener.classes(remove='icon').props('aria-haspopup="dialog"')

    @override
    def tick(self, moment: Moment, now: float) -> None:
        view = moment.view
        streamed = self.page.find(AgentPanes).streamed if moment.live else 0
        tokens = usage_headline(with_streamed(view.usage, streamed))
        if tokens != self._tokens.text:
            self._tokens.set_text(tokens)
        self._time.set_text(duration(own_seconds(view, now)) if view.started else '')


def _draw_control(text: str, icon: str, act: Callable[[], Awaitable[None]], hint: str) -> ui.element:
    control = button(text, icon=icon, requires=text.lower())
    control.tooltip(hint)
    control.on('click', act)
    return control


class StatusStrip(Pane):
    """The strip under the header; empty if the pattern has none of its parts."""

    place = 'head'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        info, shape = page.context.info, page.context.shape
        self._shape = shape
        self._newest: Moment | None = None
        with Box('run-strip') as self._root:
            parts = page.draw('strip')
            with Box('strip-actions') as acts:
                self._report = text_link(
                    f'/runs/{info.id}/report', 'Read report', 'btn small', icon='description'
                )
                handled = handled_inputs(page.kinds, shape, FACES)
                self._input_requests = InputRequests(page.context.conductor, info, shape, handled)
            acts.set_visibility(bool(shape.field('report')) or self._input_requests.has_any)
        may_ask = self._input_requests.has_any and not info.status.ended
        self._may_ask, self._has_more = may_ask, bool(parts or shape.field('report'))
        keeps_height = any(isinstance(part, StripPart) and part.keeps_height for part in parts)
        self._root.classes(
            'reserved' if may_ask and (keeps_height or not self._input_requests.has_seats) else ''
        )

    @override
    def show_newest(self, moment: Moment) -> None:
        newest = moment.newest
        reported = bool(newest.memory.get(self._shape.field('report')))
        self._report.set_visibility(reported)
        set_class(self._root, 'reported', on=reported)
        self._newest = moment
        self.show_face(self.page.face)

    @override
    def show_face(self, face: Face) -> None:
        handled = handled_inputs(self.page.kinds, self._shape, (face,))
        # Shown from the start if it can ever be needed, so that the parts below do not move.
        may_ask = self._may_ask and not self._input_requests.triggers <= handled
        self._root.set_visibility(self._has_more or may_ask)
        if moment := self._newest:
            asking = self._input_requests.show(moment.newest, may_control=moment.may_control, handled=handled)
            set_class(self._root, 'asking', on=asking)

"""The launch form: drafts, earlier inputs, a diagram, and the start button."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import app, ui

from engine import EngineError, InvalidInput, Pattern
from engine.models.scripted import Sample
from engine.records import RunInfo, Shape
from ui.components.breakpoints.debug_options import DebugOptions
from ui.components.diagram.fitting import Room, fit
from ui.components.diagram.rendering import INSTALL, has_graphviz
from ui.components.diagram.save_menu import save_menu
from ui.components.diagram.zoom_controls import zoom_buttons
from ui.components.elements import Diagram
from ui.components.forms.form import Form
from ui.components.menus import PickerItem, picker
from ui.components.theme import button, notice
from ui.components.widgets import Text, set_attributes
from ui.formatting.values import ago
from ui.pages.launch.efforts import Efforts
from ui.pages.launch.models import Models
from ui.pages.launch.options import BudgetLimits, RunOptions, TeamRunOptions, budget_values
from ui.pages.launch.samples import Starter, is_known, recent_inputs, samples
from ui.pages.launch.typical_use import TypicalUse, typical_use
from ui.pages.shared.recording_picker import RecordingPicker, recordings
from ui.web.backend import Backend

SETTLE = 0.4
"""Seconds without a change before the diagram is redrawn and the draft saved."""
DRAFT_LIMIT = 60_000
"""Maximum length of a saved draft, in characters of JSON."""
LARGE = 'Enlarge the diagram'
REPLAYED = 'Replay: answers come from the recording. No provider is called; it is free.'
RUN_KEYS = """(event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "Enter" || event.repeat) return;
    event.preventDefault();
    emit();
}"""


class LaunchForm:
    """The form of one pattern, and everything next to it."""

    def __init__(self, backend: Backend, made: type[Pattern]) -> None:
        """Draw it; `load` completes it."""
        self._backend, self._made = backend, made
        self._kept = ' '.join(filter(None, ('drafts', backend.caller.name)))
        """The storage key of this browser's drafts; each account has its own."""
        self._starter = Starter(backend)
        self._large = False
        self._shape: Shape | None = None
        self._ready = False
        self._typical = TypicalUse()
        with ui.element('div').classes('launch') as self._page:
            with ui.element('div').classes('card launch-form'):
                self._picks = ui.element('div').classes('picks')
                self._replay = RecordingPicker(self._touch_models)
                self._form = Form(made.Parameters, on_change=self._touch)
                for name, why in made.unavailable().items():
                    self._form.controls[name].withhold(why)
                with ui.element('div') as self._casting:
                    self._models = Models(backend().catalog.registry, on_change=self._touch_models)
                    self._efforts = Efforts(on_change=self._touch)
                self._limits = Form(BudgetLimits, on_change=self._touch)
                self._options = Form(TeamRunOptions if backend.access else RunOptions, on_change=self._touch)
                fields = made.Memory.model_fields
                self._debugging = DebugOptions(lambda: self._shape, fields, on_change=self._touch)
                with ui.element('div').classes('form-foot'):
                    self._trouble = ui.element('div').classes('ghost')
                    with ui.element('div').classes('launch-actions'):
                        self._run = button('Run', icon='play_arrow', kind='primary big', requires='start')
                        self._run.on('click', self.start)
                        Text('kbd', 'Ctrl')
                        Text('kbd', 'Enter')
                        with ui.element('p').classes('pricing').props('role="status"') as self._told:
                            self._icon = ui.icon('theaters').props('size="18px"')
                            self._cost = Text('span', '')
                        button('Reset form', kind='quiet').on('click', self._reset)
            with ui.element('section').classes('panel launch-chart').props('aria-labelledby="chart"'):
                with ui.element('div').classes('panel-head'):
                    Text('h2', 'Diagram', id='chart')
                    ui.element('span').classes('grow')
                    zoom_buttons(lambda: self._diagram)
                    save_menu(lambda: self._shape, lambda: self._folded)
                    self._size = button('', icon='open_in_full', kind='quiet small large', label=LARGE)
                    set_attributes(self._size, aria_pressed='false')
                    self._size.on('click', self._enlarge)
                self._chart = ui.element('div').classes('launch-diagram')
        self._page.on('keydown', self.start, js_handler=RUN_KEYS)
        self._settle = ui.timer(SETTLE, self._on_settled, active=False, immediate=False)
        self._diagram: Diagram | None = None
        self._room: Room = (480, 490)
        self._folded: frozenset[str] = frozenset()

    def _enlarge(self) -> None:
        """Toggle between the diagram alone and the form next to it."""
        self._large = not self._large
        self._page.classes(add='charted' if self._large else '', remove='' if self._large else 'charted')
        set_attributes(self._size, aria_pressed=str(self._large).lower())
        self._size.update()

    def _show_models(self) -> None:
        live, words = (False, REPLAYED) if self._replay.run else self._models.describe(known=self._is_known())
        if live:
            limits, _ = self._limits.parse()
            budget = limits.budget if isinstance(limits, BudgetLimits) else None
            words = f'{words} {self._typical.sentence(self._models.price, budget)}'
        self._casting.set_visibility(self._replay.run is None)
        self._icon.props(f'name={"bolt" if live else "replay" if self._replay.run else "theaters"}')
        self._told.classes(add='live' if live else '', remove='' if live else 'live')
        self._cost.show(words)

    def _is_known(self) -> bool:
        return is_known(self._made, self._form.parse()[0])

    async def load(self, again: RunInfo | None, *, replay: bool = False) -> None:
        """Offer samples and earlier inputs, restore the draft, draw the diagram.

        Args:
            again: an earlier run whose input is used.
            replay: whether to answer from its recording as well.
        """
        self._restore(again, replay=replay)  # before the first await, after which the page may be in use
        self._form.focus(still=True)  # without scrolling: the page opens at its top
        if self._shape is not None:
            await self._draw(self._shape)
        self._typical = await typical_use(self._backend(), self._made.name)
        await self._offer()
        self._show_models()
        await self._note()
        self._ready = True
        ui.timer(0.1, self._models.look, once=True)

    def _restore(self, again: RunInfo | None, *, replay: bool) -> None:
        draft = app.storage.user.get(self._kept, {}).get(self._made.name)
        if again is not None:
            self._form.set(again.parameters)
        elif draft:
            self._form.fill(draft.get('form', {}))
        self._update_roles()  # the calls below need the roles
        if again is not None:
            self._again(again, title=again.title, tags=again.tags)
            self._replay.take(again if replay else None)
        elif draft:
            self._options.fill(draft.get('options', {}))
            self._limits.fill(draft.get('budget', {}))
            self._debugging.fill(draft.get('debugging', {}))
            self._models.fill(draft.get('models', {}))
            self._efforts.fill(draft.get('effort', {}))

    async def _offer(self) -> None:
        now = self._backend().clock.now()
        ready = [
            PickerItem(
                title=sample.title,
                note=sample.about,
                chosen=partial(self._sample, sample),
            )
            for sample in samples(self._made)
        ]
        before = [
            PickerItem(
                title=info.title,
                note=ago(info.created, now),
                chosen=partial(self._again, info),
            )
            for info in await recent_inputs(self._backend(), self._made.name)
        ]
        kept = [
            PickerItem(title=info.title, note=ago(info.created, now), chosen=partial(self._play, info))
            for info in await recordings(self._backend(), self._made.name)
        ]
        with self._picks:
            if ready:
                picker('Samples', 'auto_awesome', ready)
            if before:
                picker('Earlier inputs', 'history', before)
            if kept:
                picker('Recordings', 'replay', kept)
        self._picks.set_visibility(bool(ready or before))

    def _fill_parameters(self, parameters: Mapping[str, Any]) -> None:
        self._replay.take(None)
        self._form.set(parameters)
        self._form.check()

    def _sample(self, sample: Sample) -> None:
        """Fill in a sample and its models."""
        self._fill_parameters(sample.parameters)
        self._update_roles()
        self._models.again(sample.models)
        self._models.check()
        self._touch_models()

    def _again(self, info: RunInfo, **more: Any) -> None:
        """Fill in everything an earlier run was started with."""
        self._fill_parameters(info.parameters)
        kept = {name: info.options[name] for name in ('approvals', 'record') if name in info.options}
        self._options.set({'seed': info.seed, **kept, **more})
        self._limits.set(budget_values(info.budget))
        self._debugging.fill(info.options)
        self._models.again(info.models)
        self._efforts.fill(info.options.get('effort', {}))
        self._models.check()
        self._touch_models()

    def _play(self, info: RunInfo) -> None:
        """Replay the recording of a run, with its input."""
        self._again(info)
        self._replay.take(info)

    def _reset(self) -> None:
        self._replay.take(None)
        self._form.set({})
        self._options.set({})
        self._limits.set({})
        self._debugging.fill({})
        self._models.fill({})
        self._efforts.fill({})
        self._touch_models()
        self._form.focus()

    def _touch(self) -> None:
        if self._ready:
            self._settle.deactivate()
            self._settle.activate()

    def _touch_models(self) -> None:
        self._show_models()
        self._touch()

    async def _on_settled(self) -> None:
        self._settle.deactivate()
        self._keep(
            {
                'form': self._form.raw,
                'models': self._models.raw,
                'effort': self._efforts.chosen,
                'budget': self._limits.raw,
                'options': self._options.raw,
                'debugging': self._debugging.raw,
            }
        )
        self._show_models()
        if shape := self._update_roles():
            await self._draw(shape)
        await self._note()

    async def _note(self) -> None:
        """Show notes at the fields on what their values mean on this machine."""
        parsed, _ = self._form.parse()
        notes = await self._made.sample(parsed.model_dump(mode='json')).field_notes() if parsed else {}
        for name, control in self._form.controls.items():
            control.note(notes.get(name, ''))

    def _keep(self, draft: dict[str, Any] | None) -> None:
        drafts = dict(app.storage.user.get(self._kept, {}))
        drafts.pop(self._made.name, None)
        if draft is not None and len(json.dumps(draft)) <= DRAFT_LIMIT:
            drafts[self._made.name] = draft
        app.storage.user[self._kept] = drafts

    def _update_roles(self) -> Shape | None:
        """Update the role fields to the chart; return the chart if it has changed."""
        parsed, _ = self._form.parse()
        try:
            shape = self._backend().draw(self._made.name, parsed.model_dump(mode='json') if parsed else None)
        except EngineError:
            return None
        if shape == self._shape or (parsed is None and self._shape is not None):
            return None
        self._shape = shape
        roles = [role for state in shape.states for role in state.roles or (state.role,) if role]
        self._models.set_roles(roles)
        self._efforts.set_roles(roles)
        return shape

    async def _draw(self, shape: Shape) -> None:
        drawn, self._folded = await fit(shape, self._room, active=(shape.initial,))
        states = [state.path for state in shape.states]
        if self._diagram is None:
            with self._chart:
                if drawn:
                    self._diagram = Diagram(drawn, title=self._made.title, states=states)
                    self._diagram.on_room(self._on_resize)
                else:
                    Text('p', INSTALL if not has_graphviz() else 'The chart cannot be drawn.', 'empty')
        elif drawn:
            self._diagram.show(drawn, states)

    async def _on_resize(self, width: int, height: int, _held: bool) -> None:
        if (width, height) != self._room and self._shape is not None:
            self._room = (width, height)
            await self._draw(self._shape)

    async def start(self) -> None:
        """Start the run, or show the problems."""
        if self._starter.busy:
            return
        parameters, limits, options = self._form.check(), self._limits.check(), self._options.check()
        models = self._replay.run is not None or (self._models.check() & self._efforts.check())
        if parameters is None or limits is None or options is None or not models:
            for part in (self._options, self._limits, self._efforts, self._models, self._form):
                part.go_to_problem()  # in reverse order: the first problem on the page keeps the focus
            return
        self._trouble.clear()
        self._busy(True)
        chosen = BudgetLimits.model_validate(limits.model_dump())
        try:
            await self._starter.start(
                self._made.name,
                parameters.model_dump(mode='json'),
                models={} if self._replay.run else self._models.chosen,
                effort={} if self._replay.run else self._efforts.chosen,
                budget=chosen.budget,
                **(options.model_dump() | self._debugging.options | self._replay.options),
            )
        except InvalidInput as error:
            self._refuse(error.problems)
        except EngineError as error:
            with self._trouble, notice('fail', 'error'):
                Text('p', f'The run could not be started: {error}. Your input is kept.')
        else:
            self._settle.deactivate()
            self._keep(None)
            return
        self._busy(False)

    def _refuse(self, problems: Mapping[str, str]) -> None:
        """Show each problem at its field: `models.judge`, `budget.tokens`, or a parameter's own name."""
        parts = {
            'models': self._models,
            'effort': self._efforts,
            'budget': self._limits,
            'breakpoints': self._debugging,
        }
        found: dict[str, dict[str, str]] = {part: {} for part in ('', *parts)}
        if problem := problems.get('replay', ''):
            with self._trouble, notice('fail', 'error'):
                Text('p', f'The run could not be started: {problem}.')
        for name, problem in problems.items():
            part, _, field = name.partition('.')
            found[part if part in parts else ''][field if part in parts else name] = problem
        self._models.refuse(found['models'])
        self._efforts.refuse(found['effort'])
        self._limits.refuse(found['budget'])
        self._debugging.refuse(found['breakpoints'])
        self._form.refuse(found[''])
        for form in (self._limits, self._efforts, self._models, self._form):
            form.go_to_problem()

    def _busy(self, busy: bool) -> None:
        self._run.classes(add='busy' if busy else '', remove='' if busy else 'busy')
        if busy:
            self._run.props('disabled')
        else:
            self._run.props(remove='disabled')

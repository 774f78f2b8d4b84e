"""The launch form at work: drafts, earlier inputs, the diagram beside it, and the start."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import app, ui

from engine import EngineError, InvalidInput, Pattern, RunInfo, Shape
from ui.door import Door
from ui.drawing.diagram import INSTALL, available, svg
from ui.drawing.folding import readable
from ui.drawing.saving import export_menu
from ui.elements import Diagram
from ui.forms.form import Form
from ui.launch.models import Models
from ui.launch.options import Limits, Options, values_of
from ui.launch.replaying import Replay, recordings
from ui.launch.samples import Starter, earlier, samples
from ui.menus import Pick, picker
from ui.parts import Text
from ui.presenters.words import ago
from ui.stepping.launch import Debugging
from ui.theme import button, notice

SETTLE = 0.4
"""Seconds without a change after which the diagram is drawn again and the draft is kept."""
DRAFT_LIMIT = 60_000
"""Characters of a draft that is kept."""
REPLAYED = 'Replayed: answers come from the recording. No provider is called, no key, nothing to pay.'
RUN_KEYS = """(event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "Enter" || event.repeat) return;
    event.preventDefault();
    emit();
}"""


class Launcher:
    """The form of one pattern with everything around it."""

    def __init__(self, door: Door, made: type[Pattern]) -> None:
        """Draw it; `load` fills in what has to be looked up."""
        self._door, self._made = door, made
        self._starter = Starter(door)
        self._shape: Shape | None = None
        self._ready = False
        with ui.element('div').classes('launch') as page:
            with ui.element('div').classes('card launch-form'):
                self._picks = ui.element('div').classes('picks')
                self._replay = Replay(self._touch_models)
                self._form = Form(made.Parameters, on_change=self._touch)
                with ui.element('div') as self._casting:
                    self._models = Models(door().catalog.offer, on_change=self._touch_models)
                self._limits = Form(Limits, on_change=self._touch)
                self._options = Form(Options, on_change=self._touch)
                fields = made.Memory.model_fields
                self._debugging = Debugging(lambda: self._shape, fields, on_change=self._touch)
                self._trouble = ui.element('div').classes('ghost')
                with ui.element('div').classes('launch-actions'):
                    self._run = button('Run', icon='play_arrow', kind='primary big')
                    self._run.on('click', self.start)
                    Text('kbd', 'Ctrl')
                    Text('kbd', 'Enter')
                    ui.element('div').classes('grow')
                    button('Start afresh', kind='quiet').on('click', self._reset)
                with ui.element('p').classes('pricing').props('role="status"') as self._told:
                    self._icon = ui.icon('theaters').props('size="18px"')
                    self._said = Text('span', '')
            with ui.element('section').classes('panel launch-chart').props('aria-labelledby="chart"'):
                with ui.element('div').classes('panel-head'):
                    Text('h2', 'What will run', id='chart')
                    ui.element('span').classes('grow')
                    export_menu(lambda: self._shape, lambda: readable(self._shape) if self._shape else True)
                self._chart = ui.element('div').classes('launch-diagram')
        page.on('keydown', self.start, js_handler=RUN_KEYS)
        self._settle = ui.timer(SETTLE, self._settled, active=False, immediate=False)
        self._diagram: Diagram | None = None

    def _say_models(self) -> None:
        live, words = (False, REPLAYED) if self._replay.run else self._models.told()
        self._casting.set_visibility(self._replay.run is None)
        self._icon.props(f'name={"bolt" if live else "replay" if self._replay.run else "theaters"}')
        self._told.classes(add='live' if live else '', remove='' if live else 'live')
        self._said.show(words)

    async def load(self, again: RunInfo | None, *, replay: bool = False) -> None:
        """Offer samples and earlier inputs, put the draft back, draw the diagram.

        Args:
            again: an earlier run, whose input is used.
            replay: whether its recording is to answer, too.
        """
        drafts = app.storage.user.get('drafts', {})
        draft = drafts.get(self._made.name)
        if again is not None:
            self._form.set(again.parameters)
        elif draft:
            self._form.fill(draft.get('form', {}))
        await self._draw()  # the roles are known from now on
        if again is not None:
            self._again(again, title=again.title, tags=again.tags)
            self._replay.take(again if replay else None)
        elif draft:
            self._options.fill(draft.get('options', {}))
            self._limits.fill(draft.get('budget', {}))
            self._debugging.fill(draft.get('debugging', {}))
            self._models.fill(draft.get('models', {}))
        self._form.focus()
        await self._offer()
        self._say_models()
        self._ready = True
        ui.timer(0.1, self._models.look, once=True)

    async def _offer(self) -> None:
        now = self._door().clock.now()
        ready = [
            Pick(
                title=sample.title,
                note=sample.about,
                chosen=partial(self._take, sample.parameters),
            )
            for sample in samples(self._made)
        ]
        before = [
            Pick(
                title=info.title,
                note=ago(info.created, now),
                chosen=partial(self._again, info),
            )
            for info in await earlier(self._door(), self._made.name)
        ]
        kept = [
            Pick(title=info.title, note=ago(info.created, now), chosen=partial(self._play, info))
            for info in await recordings(self._door(), self._made.name)
        ]
        with self._picks:
            if ready:
                picker('Use a sample', 'auto_awesome', ready)
            if before:
                picker('Use an earlier input', 'history', before)
            if kept:
                picker('Replay a recording', 'replay', kept)
        self._picks.set_visibility(bool(ready or before))

    def _take(self, parameters: Mapping[str, Any]) -> None:
        self._replay.take(None)
        self._form.set(parameters)
        self._form.check()

    def _again(self, info: RunInfo, **more: Any) -> None:
        """Show all that an earlier run was started with."""
        self._take(info.parameters)
        kept = {name: info.options[name] for name in ('approvals', 'record') if name in info.options}
        self._options.set({'seed': info.seed, **kept, **more})
        self._limits.set(values_of(info.budget))
        self._debugging.fill(info.options)
        self._models.again(info.models)
        self._models.check()
        self._touch_models()

    def _play(self, info: RunInfo) -> None:
        """Have the recording of a run answer, to what it was asked."""
        self._again(info)
        self._replay.take(info)

    def _reset(self) -> None:
        self._replay.take(None)
        self._form.set({})
        self._options.set({})
        self._limits.set({})
        self._debugging.fill({})
        self._models.fill({})
        self._touch_models()
        self._form.focus()

    def _touch(self) -> None:
        if self._ready:
            self._settle.deactivate()
            self._settle.activate()

    def _touch_models(self) -> None:
        self._say_models()
        self._touch()

    async def _settled(self) -> None:
        self._settle.deactivate()
        self._keep(
            {
                'form': self._form.raw,
                'models': self._models.raw,
                'budget': self._limits.raw,
                'options': self._options.raw,
                'debugging': self._debugging.raw,
            }
        )
        await self._draw()

    def _keep(self, draft: dict[str, Any] | None) -> None:
        drafts = dict(app.storage.user.get('drafts', {}))
        drafts.pop(self._made.name, None)
        if draft is not None and len(json.dumps(draft)) <= DRAFT_LIMIT:
            drafts[self._made.name] = draft
        app.storage.user['drafts'] = drafts

    async def _draw(self) -> None:
        parsed, _ = self._form.parse()
        try:
            shape = self._door().draw(self._made.name, parsed.model_dump(mode='json') if parsed else None)
        except EngineError:
            return
        if shape == self._shape or (parsed is None and self._shape is not None):
            return
        self._shape = shape
        self._models.cast(role for state in shape.states for role in state.roles or (state.role,) if role)
        drawn = await svg(shape, folded=readable(shape))
        if self._diagram is None:
            with self._chart:
                if drawn:
                    self._diagram = Diagram(drawn, label=f'The states of {self._made.title}')
                else:
                    Text('p', INSTALL if not available() else 'The chart cannot be drawn.', 'empty')
        elif drawn:
            self._diagram.show(drawn)

    async def start(self) -> None:
        """Start the run, or show what is wrong."""
        if self._starter.busy:
            return
        parameters, limits, options = self._form.check(), self._limits.check(), self._options.check()
        models = self._replay.run is not None or self._models.check()
        if parameters is None or limits is None or options is None or not models:
            for part in (self._options, self._limits, self._models, self._form):
                part.go_to_problem()  # the first of them on the page has the last word
            return
        self._trouble.clear()
        self._busy(True)
        chosen = Limits.model_validate(limits.model_dump())
        try:
            await self._starter.start(
                self._made.name,
                parameters.model_dump(mode='json'),
                models={} if self._replay.run else self._models.chosen,
                budget=chosen.budget,
                **(options.model_dump() | self._debugging.options | self._replay.options),
            )
        except InvalidInput as error:
            self._refuse(error.problems)
        except EngineError as error:
            with self._trouble, notice('fail', 'error'):
                Text('p', f'The run did not start: {error}. Nothing that you typed is lost.')
        else:
            self._settle.deactivate()
            self._keep(None)
            return
        self._busy(False)

    def _refuse(self, problems: Mapping[str, str]) -> None:
        """Show each problem at its field: `models.judge`, `budget.tokens`, or a parameter's own name."""
        parts = {'models': self._models, 'budget': self._limits, 'breakpoints': self._debugging}
        found: dict[str, dict[str, str]] = {part: {} for part in ('', *parts)}
        if problem := problems.get('replay', ''):
            with self._trouble, notice('fail', 'error'):
                Text('p', f'The run did not start: {problem}.')
        for name, problem in problems.items():
            part, _, field = name.partition('.')
            found[part if part in parts else ''][field if part in parts else name] = problem
        self._models.refuse(found['models'])
        self._limits.refuse(found['budget'])
        self._debugging.refuse(found['breakpoints'])
        self._form.refuse(found[''])
        for form in (self._limits, self._models, self._form):
            form.go_to_problem()

    def _busy(self, busy: bool) -> None:
        self._run.classes(add='busy' if busy else '', remove='' if busy else 'busy')
        if busy:
            self._run.props('disabled')
        else:
            self._run.props(remove='disabled')

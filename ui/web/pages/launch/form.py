"""The launch form: drafts, earlier inputs, a diagram, the start button and the usage to expect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

from nicegui import app, ui

from engine import Budget, Conductor, EngineError, InvalidInput, Pattern, Status
from engine.models.scripted import Sample
from engine.operations.experiments import LaunchDefault
from engine.records import Launch, RunInfo, RunQuery, Shape, Usage
from ui.app.backend import Backend
from ui.formatting.diagram.folding import fold_levels
from ui.formatting.diagram.rendering import GRAPHVIZ_MISSING, has_graphviz
from ui.formatting.usage import dollars
from ui.formatting.values import ago
from ui.web.components.breakpoints.debug_options import DebugOptions
from ui.web.components.diagram.fitting import Room, fit
from ui.web.components.diagram.save_menu import save_menu
from ui.web.components.diagram.zoom_controls import zoom_buttons
from ui.web.components.elements import Diagram
from ui.web.components.forms.form import RUN_KEYS
from ui.web.components.menus import PickerItem, picker
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text, set_attributes, set_class
from ui.web.pages.launch.default_notice import DefaultNotice
from ui.web.pages.launch.filler import FillerNotice
from ui.web.pages.launch.rehearsal.cost_line import CostLine, Plan
from ui.web.pages.shared.add_to_dataset import add_launch_to_dataset
from ui.web.pages.shared.launching.budget_limits import BudgetLimits
from ui.web.pages.shared.launching.launch_fields import LaunchFields
from ui.web.pages.shared.launching.recording_picker import RecordingPicker, is_recorded
from ui.web.pages.shared.launching.samples import (
    MAX_OFFERED,
    Starter,
    distinct_inputs,
    is_known,
    newest_runs,
    samples,
)
from ui.web.pages.shared.launching.stub_notice import StubNotice

DEBOUNCE_SECONDS = 0.4
"""Seconds without a change before the diagram is redrawn and the draft saved."""
DRAFT_LIMIT = 60_000
"""Maximum length of a saved draft, in characters of JSON."""
LARGE = 'Enlarge the diagram'
REPLAYED = 'Replay: answers come from the recording. No provider is called; it is free.'

LOOK_BACK = 20
"""Number of newest finished runs considered."""
NO_FIELD = ('replay', 'stubs')
"""Options without a field in the form: their problems are shown at its foot."""
NO_RUN = 'Usage cannot be estimated: no run of this pattern has ended yet.'


class LaunchForm:
    """The form of one pattern, and everything next to it."""

    def __init__(
        self,
        backend: Backend,
        pattern: type[Pattern],
        *,
        version: str = '',
        default: LaunchDefault | None = None,
    ) -> None:
        """Draw it; `load` completes it.

        Args:
            backend: the way to the conductor.
            pattern: what is launched.
            version: of the pattern; by default the current one.
            default: the variant that it starts from, if a person has chosen one.
        """
        self._default = default
        self._backend, self._pattern, self._version = backend, pattern, version
        self._draft_key = ' '.join(filter(None, ('drafts', backend.caller.name)))
        """The storage key of this browser's drafts; each account has its own."""
        self._starter = Starter(backend)
        self._large = False
        self._drawn: Shape | None = None
        self._ready = False
        self._typical_use = TypicalUse()
        with Box('launch') as self._page:
            with Box('card launch-form'):
                self._pickers = Box('picks')
                self._notice = DefaultNotice(backend, self._forget_default)
                self._replay = RecordingPicker(self._on_models_edit)
                self._stubs = StubNotice(self._on_models_edit)
                self._fields = LaunchFields(
                    backend, pattern, on_change=self._on_edit, on_models_change=self._on_models_edit
                )
                memory = pattern.Memory.model_fields
                self._debugging = DebugOptions(lambda: self._fields.shape, memory, on_change=self._on_edit)
                with Box('form-foot'):
                    self._problem = Box('ghost')
                    self._filler = FillerNotice(backend, self._fields.models)
                    self._cost_line = CostLine(backend, pattern, on_limit=self._limit)
                    with Box('launch-actions'):
                        self._run = button('Run', icon='play_arrow', kind='primary big', requires='start')
                        self._run.on('click', self.start)
                        Text('kbd', 'Ctrl')
                        Text('kbd', 'Enter')
                        with Box('pricing', 'p', role='status') as self._pricing:
                            self._icon = ui.icon('theaters', size='18px')
                            self._cost = Text('span', '')
                        keep = button('Add to dataset', kind='quiet', requires='datasets.save')
                        keep.on('click', self._add_to_dataset)
                        button('Reset form', kind='quiet').on('click', self._reset)
            with Box('panel launch-chart', 'section', aria_labelledby='chart'):
                with Box('panel-head'):
                    Text('h2', 'Diagram', id='chart')
                    Box('grow', 'span')
                    zoom_buttons(lambda: self._diagram)
                    save_menu(lambda: self._fields.shape, lambda: self._folded)
                    self._size = button('', icon='open_in_full', kind='quiet small large', label=LARGE)
                    set_attributes(self._size, aria_pressed='false')
                    self._size.on('click', self._enlarge)
                self._chart = Box('launch-diagram')
        self._page.on('keydown', self.start, js_handler=RUN_KEYS)
        self._debounce = ui.timer(DEBOUNCE_SECONDS, self._on_settled, active=False, immediate=False)
        self._diagram: Diagram | None = None
        self._room: Room = (480, 490)
        self._folded: frozenset[str] = frozenset()

    def _enlarge(self) -> None:
        """Toggle between the diagram alone and the form next to it."""
        self._large = not self._large
        set_class(self._page, 'charted', on=self._large)
        set_attributes(self._size, aria_pressed=str(self._large).lower())

    def _show_models(self) -> None:
        models = self._fields.models
        live, words = (False, REPLAYED) if self._replay.run else models.describe()
        self._filler.show(models.has_roles and not (live or self._replay.run or self._is_known()))
        if live:
            limits, _ = self._fields.limits.parse()
            budget = limits.budget if isinstance(limits, BudgetLimits) else None
            words = f'{words} {self._typical_use.sentence(self._fields.models.price, budget)}'
        self._fields.roles.set_visibility(self._replay.run is None)
        self._icon.props(f'name={"bolt" if live else "replay" if self._replay.run else "theaters"}')
        set_class(self._pricing, 'live', on=live)
        self._cost.show(words)

    def _show_cost(self) -> None:
        """Show what the run costs at most; a replay costs nothing."""
        limits, _ = self._fields.limits.parse()
        limit = limits.cost if isinstance(limits, BudgetLimits) else None
        plan = Plan(self._fields.parameters.valid_values, self._fields.models.chosen, limit)
        self._cost_line.show(None if self._replay.run else plan)

    def _limit(self, amount: float) -> None:
        self._fields.limits.controls['cost'].set_content(f'{amount:g}', by_user=True)

    def _is_known(self) -> bool:
        return is_known(self._pattern, self._fields.parameters.parse()[0])

    async def load(
        self,
        earlier: RunInfo | None,
        *,
        replay: bool = False,
        sample: str = '',
        given: Mapping[str, str] | None = None,
        model: str = '',
    ) -> None:
        """Offer samples and earlier inputs, restore the draft, draw the diagram.

        Args:
            earlier: an earlier run whose input is used.
            replay: whether to answer from its recording as well.
            sample: the name of a sample that is filled in.
            given: texts to fill in; the form then starts from them, not from the draft.
            model: the model for all roles, in place of others.
        """
        # Before the first await, after which the page may be in use.
        self._restore(earlier, replay=replay, given=given or {})
        for ready in samples(self._pattern):
            if ready.name == sample:
                self._fill_from_sample(ready)
        if model:
            self._fields.models.fill({'': model})
        self._fields.parameters.focus(prevent_scroll=True)  # without scrolling: the page opens at its top
        await self._draw()
        self._typical_use = await typical_use(self._backend(), self._pattern.name)
        await self._draw_pickers()
        self._show_models()
        self._show_cost()
        await self._show_field_notes()
        self._ready = True
        ui.timer(0.1, self._fields.models.load, once=True)

    def _restore(self, earlier: RunInfo | None, *, replay: bool, given: Mapping[str, str]) -> None:
        draft = {} if given else app.storage.user.get(self._draft_key, {}).get(self._pattern.name)
        if earlier is not None:
            self._fill_from_run(earlier, named=True)
            self._use_recording(earlier if replay else None)
        else:
            if self._default:
                self._fields.set_launch(self._default.launch)
            self._notice.show(self._default)
            self._fields.fill(draft or {})
            self._debugging.fill((draft or {}).get('debugging', {}))
        if given and earlier is None:
            known = self._default.launch.parameters if self._default else {}
            self._fields.parameters.set_values({**known, **given})
            self._fields.update_shape()

    async def _draw_pickers(self) -> None:
        now, runs = self._backend().clock.now(), await newest_runs(self._backend(), self._pattern.name)

        def items_of(infos: Iterable[RunInfo], choose: Callable[[RunInfo], None]) -> list[PickerItem]:
            return [
                PickerItem(title=info.title, note=ago(info.created, now), on_choose=partial(choose, info))
                for info in infos
            ]

        ready = [
            PickerItem(
                title=sample.title, note=sample.about, on_choose=partial(self._fill_from_sample, sample)
            )
            for sample in samples(self._pattern)
        ]
        before = items_of(distinct_inputs(runs), self._fill_from_run)
        recorded = items_of([info for info in runs if is_recorded(info)][:MAX_OFFERED], self._replay_run)
        with self._pickers:
            for text, icon, items in (
                ('Samples', 'auto_awesome', ready),
                ('Earlier inputs', 'history', before),
                ('Recordings', 'replay', recorded),
            ):
                if items:
                    picker(text, icon, items)
        self._pickers.set_visibility(bool(ready or before))

    def _fill_from_sample(self, sample: Sample) -> None:
        """Fill in a sample and its models."""
        self._fields.parameters.set_values(sample.parameters)
        self._fields.update_shape()
        self._fields.models.fill_from_run(sample.models)
        self._check_filled(sample.stubs)

    def _fill_from_run(self, info: RunInfo, *, named: bool = False) -> None:
        """Fill in everything an earlier run was started with; its title and tags only if `named`."""
        self._fields.set_run(info, named=named)
        self._debugging.fill(info.options)
        self._check_filled(Launch.of(info).stubs)

    def _check_filled(self, stubs: Mapping[str, Any] | None = None) -> None:
        self._replay.use(None)
        self._stubs.use(stubs or {})
        self._fields.parameters.check()
        self._fields.models.check()
        self._on_models_edit()

    def _replay_run(self, info: RunInfo) -> None:
        """Replay the recording of a run, with its input."""
        self._fill_from_run(info)
        self._use_recording(info)

    def _use_recording(self, info: RunInfo | None) -> None:
        if info is not None:
            self._stubs.use({})
        self._replay.use(info)

    def _reset(self) -> None:
        self._replay.use(None)
        self._stubs.use({})
        plain = Launch(pattern=self._pattern.name)
        self._fields.set_launch(self._default.launch if self._default else plain)
        self._debugging.fill({})
        self._on_models_edit()
        self._fields.parameters.focus()

    def _forget_default(self) -> None:
        self._default = None
        self._reset()

    def _on_edit(self) -> None:
        if self._ready:
            self._debounce.deactivate()
            self._debounce.activate()

    def _on_models_edit(self) -> None:
        self._show_models()
        self._on_edit()

    async def _on_settled(self) -> None:
        self._debounce.deactivate()
        self._save_draft({**self._fields.raw, 'debugging': self._debugging.raw})
        self._show_models()
        self._show_cost()
        self._fields.update_shape()
        await self._draw()
        await self._show_field_notes()

    async def _show_field_notes(self) -> None:
        """Show notes at the fields on what their values mean on this machine."""
        parsed, _ = self._fields.parameters.parse()
        notes = await self._pattern.sample(parsed.model_dump(mode='json')).field_notes() if parsed else {}
        for name, control in self._fields.parameters.controls.items():
            control.show_note(notes.get(name, ''))

    def _save_draft(self, draft: dict[str, Any] | None) -> None:
        drafts = dict(app.storage.user.get(self._draft_key, {}))
        drafts.pop(self._pattern.name, None)
        if draft is not None and len(json.dumps(draft)) > DRAFT_LIMIT:
            draft = {**draft, 'files': []}
        if draft is not None and len(json.dumps(draft)) <= DRAFT_LIMIT:
            drafts[self._pattern.name] = draft
        app.storage.user[self._draft_key] = drafts

    async def _draw(self) -> None:
        """Draw the chart, unless it is drawn already."""
        shape = self._fields.shape
        if shape is None or shape == self._drawn:
            return
        self._drawn = shape
        drawn, self._folded = await fit(shape, self._room, fold_levels(shape, [shape.initial]))
        states = [state.path for state in shape.states]
        if self._diagram is None:
            with self._chart:
                if drawn:
                    self._diagram = Diagram(drawn, title=self._pattern.title, states=states)
                    self._diagram.on_resize(self._on_resize)
                else:
                    Text(
                        'p', GRAPHVIZ_MISSING if not has_graphviz() else 'The chart cannot be drawn.', 'empty'
                    )
        elif drawn:
            self._diagram.show(drawn, states)

    async def _on_resize(self, width: int, height: int, _by_user: bool) -> None:
        if (width, height) != self._room:
            self._room, self._drawn = (width, height), None
            await self._draw()

    async def start(self) -> None:
        """Start the run, or show the problems."""
        if self._starter.busy:
            return
        launch = self._fields.submit(models=self._replay.run is None)
        if launch is None:
            return
        self._problem.clear()
        self._show_busy(True)
        try:
            options = self._debugging.options | self._replay.options | self._stubs.options
            await self._starter.start(launch.change({**options, 'version': self._version}))
        except InvalidInput as error:
            self._show_problems(error.problems)
        except EngineError as error:
            with self._problem:
                text_notice('fail', 'error', f'The run could not be started: {error}. Your input is kept.')
        else:
            self._ready = False  # Lists that load only now would save the draft again.
            self._debounce.deactivate()
            self._save_draft(None)
            return
        self._show_busy(False)

    async def _add_to_dataset(self) -> None:
        """Keep the input as a case, or show the problems."""
        if launch := self._fields.submit(models=False):
            await add_launch_to_dataset(self._backend(), launch)

    def _show_problems(self, problems: Mapping[str, str]) -> None:
        """Show each problem at its field."""
        if problem := next((text for name, text in problems.items() if name.startswith(NO_FIELD)), ''):
            with self._problem:
                text_notice('fail', 'error', f'The run could not be started: {problem}.')
        at = {name: problem for name, problem in problems.items() if name.startswith('breakpoints.')}
        self._debugging.show_problems({name.partition('.')[2]: problem for name, problem in at.items()})
        self._fields.show_problems({name: problem for name, problem in problems.items() if name not in at})

    def _show_busy(self, busy: bool) -> None:
        set_class(self._run, 'busy', on=busy)
        if busy:
            self._run.props('disabled')
        else:
            self._run.props(remove='disabled')


@dataclass(frozen=True, slots=True)
class TypicalUse:
    """The median usage of earlier runs."""

    usage: Usage = field(default_factory=Usage)
    runs: int = 0

    def sentence(self, price: Callable[[Usage], float | None], budget: Budget | None) -> str:
        """Return what the next run is likely to use and cost, and its limits.

        Args:
            price: returns the dollars for a usage with the chosen models; None if unknown.
            budget: the limits at which the run ends.
        """
        most = [dollars(budget.cost)] if budget and budget.cost else []
        most += [f'{budget.tokens:,} tokens'] if budget and budget.tokens else []
        bound = f' It ends at {" or ".join(most)}.' if most else ''
        if not self.runs:
            return f'{NO_RUN}{bound}'
        paid = price(self.usage)
        about = f', about {dollars(paid)} with these models' if paid is not None else ''
        return f'Similar runs used {self.usage.total:,} tokens (median of {self.runs}){about}.{bound}'


async def typical_use(conductor: Conductor, pattern: str) -> TypicalUse:
    """Return the median usage of the newest finished runs, only of live ones if there are any."""
    try:
        page = await conductor.runs(RunQuery(pattern=pattern, status=(Status.DONE,), limit=LOOK_BACK))
    except EngineError:
        return TypicalUse()
    ended = [info for info in page.runs if info.usage.total]
    return _middle([info for info in ended if not info.simulated] or ended)


def _middle(runs: Sequence[RunInfo]) -> TypicalUse:
    if not runs:
        return TypicalUse()
    usage = Usage(
        input=round(median(info.usage.input for info in runs)),
        output=round(median(info.usage.output for info in runs)),
        calls=round(median(info.usage.calls for info in runs)),
        source='estimated',
    )
    return TypicalUse(usage, len(runs))

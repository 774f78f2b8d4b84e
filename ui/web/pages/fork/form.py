"""The fork form: variants, their estimated cost, and the start button."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nicegui import ui

from engine import EngineError, InvalidInput
from engine.history import CostEstimate, ForkOverrides
from engine.records import MAX_TITLE, RunId
from ui.app.backend import Backend
from ui.formatting.forks import cost_sentence
from ui.web.components.dialogs import confirm
from ui.web.components.forms.form import RUN_KEYS, Form
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, Text, set_attributes, set_class, text_input
from ui.web.pages.fork.variant import Origin, Variant
from ui.web.pages.shared.launching.budget_limits import BudgetLimits, budget_values
from ui.web.pages.shared.launching.models import describe_reach, is_live

DEBOUNCE_SECONDS = 0.4
"""Seconds without a change before the cost is estimated again."""
MAX_VARIANTS = 6
"""Maximum number of variants started together."""
NAMES = 'ABCDEF'


class ForkForm:
    """The card in which the variants of a fork are edited and launched."""

    def __init__(self, backend: Backend, origin: Origin) -> None:
        """Draw the form with one variant; `load` completes it."""
        self._backend, self._origin = backend, origin
        self._variants: list[Variant] = []
        self._shown: Variant | None = None
        self._busy = False
        self._debounce = ui.timer(DEBOUNCE_SECONDS, self._forecast, active=False, immediate=False)
        with Box('card launch-form fork-form') as card:
            with Box('form'):
                self._draw_title()
                self._heads = Box('fork-heads', role='group', aria_label='Variants', data_redrawn='')
                self._places = Box('ghost')
                self._limits = Form(BudgetLimits, on_change=self._on_edit)
                self._limits.set_values(budget_values(origin.info.budget))
                self._paused = ui.checkbox('Start paused')
            with Box('form-foot'):
                self._problem = Box('ghost')
                with Box('launch-actions'):
                    self._go = button('Start fork', icon='call_split', kind='primary big', requires='fork')
                    self._go.on('click', self.start)
                    Text('kbd', 'Ctrl')
                    Text('kbd', 'Enter')
                    with Box('pricing', 'p', role='status') as self._cost:
                        self._icon = ui.icon('savings', size='18px')
                        self._estimate = Text('span', 'Estimating the cost…')
        card.on('keydown', self.start, js_handler=RUN_KEYS)
        self._add()

    def _draw_title(self) -> None:
        with Box('field'):
            head = Text('label', 'Title', 'label')
            hint = 'Named by what changes, unless you name it'
            self._title = text_input(placeholder=hint, maxlength=str(MAX_TITLE), autofocus='')
            set_attributes(head, for_=self._title.html_id)

    async def load(self) -> None:
        """Estimate the cost, and load the endpoints' models."""
        await self._forecast()
        for variant in self._variants:
            await variant.load_models()

    def _add(self) -> None:
        """Add a variant, copied from the one that is shown."""
        if len(self._variants) == MAX_VARIANTS:
            return
        used = {variant.name for variant in self._variants}
        name = next(letter for letter in NAMES if letter not in used)
        with self._places:
            variant = Variant(name, self._origin, self._backend().catalog, on_change=self._on_edit)
        if self._shown is not None:
            variant.fill(self._shown.raw)
        self._variants.append(variant)
        self._show(variant)
        self._on_edit()

    def _drop(self, variant: Variant) -> None:
        self._variants.remove(variant)
        variant.root.delete()
        self._show(self._variants[0])
        self._on_edit()

    def _show(self, chosen: Variant) -> None:
        self._shown = chosen
        for variant in self._variants:
            variant.root.set_visibility(variant is chosen)
        several = len(self._variants) > 1
        self._heads.clear()
        with self._heads:
            for variant in self._variants if several else ():
                head = button(f'Variant {variant.name}', kind='small on' if variant is chosen else 'small')
                set_attributes(head, aria_pressed=str(variant is chosen).lower())
                head.on('click', lambda variant=variant: self._show(variant))
            if len(self._variants) < MAX_VARIANTS:
                more = button('Add variant', icon='add', kind='quiet small')
                more.tooltip('Start several forks together and watch them side by side')
                more.on('click', self._add)
            if several:
                Box('grow', 'span')
                drop = button(f'Remove {chosen.name}', icon='close', kind='quiet small')
                drop.on('click', lambda: self._drop(chosen))
        number = len(self._variants)
        self._go.clear()
        with self._go:
            ui.icon('call_split')
            ui.label(f'Start {number} variants' if several else 'Start fork')

    def _on_edit(self) -> None:
        self._debounce.activate()

    async def _forecast(self) -> None:
        self._debounce.deactivate()
        forecasts: list[CostEstimate] = []
        overrides: Mapping[str, ForkOverrides] | None = self._collect()
        if overrides is None:
            self._show_cost(False, 'Some fields need your attention.')
            return
        self._show_problem('')
        try:
            for variation in overrides.values():
                forecasts.append(
                    await self._backend().forecast(self._origin.info.id, self._origin.view.seq, variation)
                )
        except InvalidInput as error:
            self._show_problems(self._variants[len(forecasts)], error)
            return
        except EngineError as error:
            self._show_problem(str(error))
            return
        if not self._estimate.is_deleted:
            free, words = cost_sentence(forecasts)
            self._show_cost(
                free, words if free else f'{words} {self._describe_reach(overrides.values())}'.strip()
            )

    def _describe_reach(self, variations: Iterable[ForkOverrides]) -> str:
        """Return sentences on what the external agents with roles in these forks may reach."""
        registry, models = self._backend().catalog.registry, self._origin.info.models
        named = [name for variation in variations for name in {**models, **variation.models}.values()]
        return describe_reach(registry, (name for name in named if is_live(registry, name)))

    def _collect(self) -> dict[str, ForkOverrides] | None:
        read = {variant.name: variant.read() for variant in self._variants}
        good = {name: variation for name, variation in read.items() if variation is not None}
        return good if len(good) == len(read) else None

    def _show_problems(self, variant: Variant, error: InvalidInput) -> None:
        rest = variant.show_problems(error)
        if len(self._variants) > 1:
            self._show(variant)
        self._show_problem(rest)
        self._show_cost(False, 'Correct the marked fields to start the fork.')

    async def start(self) -> None:
        """Start the forks, and open them."""
        if self._busy:
            return
        overrides, limits = self._collect(), self._limits.check()
        if overrides is None or not isinstance(limits, BudgetLimits):
            bad = next((variant for variant in self._variants if variant.read() is None), None)
            if bad is not None:
                self._show(bad)
                bad.focus_problem()
            else:
                self._limits.focus_problem()
            return
        if (same := _find_equal(overrides)) and not await confirm(
            'Start identical variants?',
            f'Variants {same} make the same changes, so they differ only by chance.',
            yes='Start anyway',
            no='Cancel',
        ):
            return
        self._busy = True
        self._go.classes('busy')
        try:
            await self._start(overrides, limits)
        except InvalidInput as error:
            blamed = self._find_faulty(error)
            self._show_problems(blamed, error)
            blamed.focus_problem()
        except EngineError as error:
            self._show_problem(str(error))
        finally:
            self._busy = False
            self._go.classes(remove='busy')

    async def _start(self, overrides: Mapping[str, ForkOverrides], limits: BudgetLimits) -> None:
        run, at, title = self._origin.info.id, self._origin.view.seq, str(self._title.value or '')
        paused, conductor = bool(self._paused.value), self._backend()
        if len(overrides) == 1:
            (variation,) = overrides.values()
            fork = await conductor.fork(
                run, at, title=title, paused=paused, budget=limits.budget, overrides=variation
            )
            ui.navigate.to(f'/runs/{fork}')
            return
        runs: list[RunId] = await conductor.fork_all(run, at, overrides, paused=paused, budget=limits.budget)
        info = await conductor.info(runs[0])
        ui.navigate.to(f'/variants/{info.options["group"]}')

    def _find_faulty(self, error: InvalidInput) -> Variant:
        """Return the variant that the first problem names, as in `B: models.writer`, or the first variant."""
        name = next(iter(error.problems), '').partition(':')[0]
        return next((variant for variant in self._variants if variant.name == name), self._variants[0])

    def _show_problem(self, problem: str) -> None:
        self._problem.clear()
        if problem:
            with self._problem:
                text_notice('fail', 'error_outline', problem)

    def _show_cost(self, free: bool, words: str) -> None:
        self._icon.props(f'name={"savings" if free else "payments"}')
        set_class(self._cost, 'live', on=not free)
        self._estimate.show(words)


def _find_equal(variants: Mapping[str, ForkOverrides]) -> str:
    """Return the first variants with equal changes, as in `A and B`; '' if all differ."""
    for overrides in variants.values():
        same = [name for name, other in variants.items() if other == overrides]
        if len(same) > 1:
            return f'{", ".join(same[:-1])} and {same[-1]}'
    return ''

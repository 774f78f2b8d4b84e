"""The form of a new experiment: base, dataset, variants, scorers, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from engine import EngineError, InvalidInput
from engine.operations.experiments import Experiment, Plan, ScorerSpec, Variant
from engine.records import Launch
from ui.app.backend import Backend
from ui.formatting.experiments.estimate import plan_sentences
from ui.web.components.debounce import create_page_task
from ui.web.components.dialogs import confirm
from ui.web.components.forms.form import Form
from ui.web.components.forms.record_form import form_model
from ui.web.components.theme import button, text_notice
from ui.web.components.widgets import Box, CachedElement, Text
from ui.web.pages.experiments.new.dataset_choice import DatasetChoice
from ui.web.pages.experiments.new.scorers import ScorerList
from ui.web.pages.experiments.new.variants import VariantList
from ui.web.pages.shared.launching.budget_limits import BudgetLimits, budget_values
from ui.web.pages.shared.launching.launch_choice import LaunchChoice

SETTLE_SECONDS = 0.8
"""Seconds without a change before the estimate is worked out again."""
RUNNING = ('repeats', 'at_once', 'recorded', 'stop_early', 'fail_under')
"""The fields of an experiment that say how it is run."""
UNNAMED = 'Experiment'
"""Stands for the name until there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What the form begins with."""

    name: str = ''
    dataset: str = ''
    version: str = ''
    """The version of the dataset; '' is the newest."""
    split: str = ''
    base: Launch | None = None
    variants: tuple[Variant, ...] = ()
    scorers: tuple[ScorerSpec, ...] = ()
    settings: Mapping[str, Any] | None = None
    """Values of the fields of `Experiment` that say how it is run."""
    budget: Any = None
    after: str = ''
    """The experiment that is run again."""


class NewExperiment:
    """The form; `load` reads the datasets."""

    def __init__(self, backend: Backend, draft: Draft) -> None:
        """Draw it, filled with a draft."""
        self._backend, self._draft = backend, draft
        self._is_busy = False
        with Box('card launch-form experiment-form') as self._card:
            self._name = Form(form_model(Experiment, without=RUNNING), on_change=self._on_edit)
            with _section('On which cases', 'Each case gives some of the parameters, and what is expected.'):
                self._cases = DatasetChoice(backend, on_change=self._on_cases)
            with _section('How cases are run', 'The same in all variants, apart from what they change.'):
                self._base = LaunchChoice(
                    backend, draft.base, on_pattern=self._on_edit, without=self._given_elsewhere
                )
                self._base.show()
            with _section('What is compared', 'The others are compared with the first variant.'):
                self._variants = VariantList(
                    backend, base=self._base.submit, without=self._given_elsewhere, on_change=self._on_edit
                )
            with _section('How runs are scored', 'The first scorer decides; the others are reported too.'):
                self._scorers = ScorerList(on_change=self._on_edit)
                self._problem_of_scorers = Text('p', '', 'problem', role='alert')
            with _section('How much is run', 'The budget is for all runs together.'):
                with Box('run-settings'):
                    self._settings = Form(form_model(Experiment, without=('name',)), on_change=self._on_edit)
                self._limits = Form(BudgetLimits, on_change=self._on_edit)
            with Box('form-foot'):
                self._problem = CachedElement('ghost')
                self._estimate = CachedElement('estimate', role='status')
                with Box('launch-actions'):
                    self._go = button(
                        'Start experiment', icon='play_arrow', kind='primary big', requires='experiments.add'
                    )
                    self._go.on('click', self.start)
        self._settle = ui.timer(SETTLE_SECONDS, self._on_settled, active=False, immediate=False)
        self._fill()

    def _fill(self) -> None:
        draft = self._draft
        self._name.set_values({'name': draft.name})
        self._settings.set_values(draft.settings or {})
        self._limits.set_values(budget_values(draft.budget))
        if draft.variants:
            self._variants.set_variants(draft.variants)
        self._scorers.set_scorers(draft.scorers)

    async def load(self) -> None:
        """Offer the datasets, and work out the first estimate."""
        await self._cases.load(self._draft.dataset, self._draft.version, self._draft.split)
        self._on_edit()

    def _given_elsewhere(self) -> set[str]:
        """Return the parameters that every case gives, and the options that experiments set themselves."""
        each = [set(case.parameters) for case in self._cases.cases]
        return {*(set.intersection(*each) if each else ()), 'options.title'}

    def _on_cases(self) -> None:
        self._base.show()
        self._on_edit()

    def _on_edit(self) -> None:
        self._settle.deactivate()
        self._settle.activate()

    def _on_settled(self) -> None:
        self._settle.deactivate()
        create_page_task(self._card, self._find_plan(), 'estimate an experiment')

    def _read(self, *, strictly: bool) -> Experiment | None:
        """Return the experiment; if a field is invalid, None, and `strictly` the first gets the focus."""
        has_all = bool(self._cases.dataset and self._scorers.scorers)
        forms = (self._limits, self._settings, self._name)  # upwards: the first problem keeps the focus
        limits, settings, name = ((form.submit() if strictly else form.parse()[0]) for form in forms)
        base = self._base.submit() if strictly else self._base.parse()
        if strictly:
            self._cases.check()
            self._problem_of_scorers.show('' if self._scorers.scorers else 'Add a scorer.')
        if not has_all or base is None or not isinstance(limits, BudgetLimits):
            return None
        if settings is None or (strictly and name is None):
            return None
        values = {'name': UNNAMED, **settings.model_dump(), **(name.model_dump() if name else {})}
        return Experiment(
            **values,
            dataset=self._cases.dataset,
            version=self._cases.version,
            split=self._cases.split,
            base=base,
            variants=self._variants.variants,
            scorers=self._scorers.scorers,
            budget=limits.budget,
            after=self._draft.after,
        )

    async def _find_plan(self) -> None:
        experiment = self._read(strictly=False)
        if experiment is None:
            self._show_plan(None, 'What it takes is shown here once a dataset and a scorer are chosen.')
            return
        try:
            plan = await self._backend().experiments.plan(experiment)
        except EngineError as error:
            self._show_plan(None, f'Cannot run like this yet: {_say(error)}')
        else:
            self._show_plan(plan, '', experiment)

    def _show_plan(self, plan: Plan | None, text: str, experiment: Experiment | None = None) -> None:
        lines = plan_sentences(plan, experiment) if plan and experiment else [text]
        if self._estimate.is_deleted or not self._estimate.clear_if_changed(lines):
            return
        with self._estimate:
            for place, line in enumerate(lines):
                Text('p', line, '' if plan and not place else 'muted small')

    async def start(self) -> None:
        """Ask whether what it takes is right, and start it."""
        if self._is_busy:
            return
        self._show_problem('')
        experiment = self._read(strictly=True)
        if experiment is None:
            return
        self._is_busy = True
        self._go.classes('busy')
        try:
            plan = await self._backend().experiments.plan(experiment)
            with self._card:
                sure = await confirm(
                    'Start this experiment?',
                    ' '.join(plan_sentences(plan, experiment)),
                    yes='Start experiment',
                    no='Cancel',
                )
            if sure:
                started = await self._backend().experiments.add(experiment)
                ui.navigate.to(f'/experiments/{started.id}')
        except EngineError as error:
            self._show_problem(f'It was not started: {_say(error)}')
        finally:
            self._is_busy = False
            self._go.classes(remove='busy')

    def _show_problem(self, problem: str) -> None:
        if self._problem.clear_if_changed(problem) and problem:
            with self._problem:
                text_notice('fail', 'error', problem)


def _section(title: str, about: str) -> Box:
    section = Box('experiment-section', 'section')
    with section:
        Text('h2', title)
        Text('p', about, 'muted small')
    return section


def _say(error: EngineError) -> str:
    """Return a refusal in words: what is wrong with which field."""
    if not isinstance(error, InvalidInput):
        return f'{error}.'
    return '; '.join(f'{name}: {problem}' for name, problem in [*error.problems.items()][:3]) + '.'

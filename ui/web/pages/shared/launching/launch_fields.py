"""LaunchFields: what a run is started with, for the launch form, schedules and triggers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from engine import EngineError, Pattern
from engine.agents import agents_of
from engine.records import Launch, RunInfo, Shape
from engine.runtime import folders_of_files
from ui.app.backend import Backend
from ui.web.components.forms.form import Form
from ui.web.components.forms.narrow_model import narrow_model
from ui.web.components.forms.record_form import form_model
from ui.web.components.widgets import Box
from ui.web.pages.shared.launching.agent_fields import HEADS, AgentFields, AgentValues
from ui.web.pages.shared.launching.budget_limits import BudgetLimits, budget_values
from ui.web.pages.shared.launching.efforts import Efforts
from ui.web.pages.shared.launching.files_field import FilesField
from ui.web.pages.shared.launching.models import Models

FOR_TRIALS = frozenset({'launch.stubs', 'launch.version'})
"""What is left out by default: answers in place of those of models, and an earlier version."""


class LaunchFields:
    """The fields of a `Launch`: parameters, models, efforts, what is given to agents, budget and options."""

    def __init__(
        self,
        backend: Backend,
        pattern: type[Pattern],
        *,
        on_change: Callable[[], None],
        on_models_change: Callable[[], None] | None = None,
        without: Collection[str] = FOR_TRIALS,
    ) -> None:
        """Draw them with their defaults.

        Args:
            backend: the way to the conductor.
            pattern: what is launched, in its version.
            on_change: called after every change.
            on_models_change: called instead after a change of models.
            without: what is not given here: parameters, `options.title`, `launch.stubs`.
        """
        self._backend, self._pattern = backend, pattern
        self.shape: Shape | None = None
        """The chart that the parameters make, as far as they are valid."""
        hidden = [name for name in without if '.' not in name]
        model = narrow_model(pattern.Parameters, without=hidden, choices={}) if hidden else pattern.Parameters
        self.parameters = Form(model, on_change=on_change)
        for name, why in pattern.unavailable().items():
            if name in self.parameters.controls:
                self.parameters.controls[name].restrict_to_default(why)
        self.files = FilesField(backend, on_change=on_change)
        with Box() as self.roles:
            self.models = Models(backend().catalog.registry, on_change=on_models_change or on_change)
            self.efforts = Efforts(on_change=on_change)
            parts = [part for part in HEADS if f'launch.{part}' not in without]
            self.agents = AgentFields(backend().catalog, on_change=on_change, parts=parts)
        self.limits = Form(BudgetLimits, on_change=on_change)
        hidden = [name.removeprefix('options.') for name in without if name.startswith('options.')]
        hidden += [] if backend.access else ['private']
        self.options = Form(form_model(Launch, group='Options', without=hidden), on_change=on_change)

    @property
    def raw(self) -> dict[str, Any]:
        """The content of all fields, valid or not."""
        return {
            'form': self.parameters.raw,
            'files': self.files.raw,
            'models': self.models.raw,
            'effort': self.efforts.chosen,
            'agents': self.agents.raw,
            'budget': self.limits.raw,
            'options': self.options.raw,
        }

    def fill(self, raw: Mapping[str, Any]) -> None:
        """Restore the `raw` content of these fields, or as much as fits of another pattern's."""
        self.parameters.fill(raw.get('form', {}))
        self.update_shape()  # models and efforts have a field for each role
        self.options.fill(raw.get('options', {}))
        self.limits.fill(raw.get('budget', {}))
        if 'files' in raw:  # Otherwise those of a default stay.
            self.files.fill(raw['files'])
        self.models.fill(raw.get('models', {}))
        self.efforts.fill(raw.get('effort', {}))
        self.agents.fill(raw.get('agents', {}))

    def set_launch(self, launch: Launch) -> None:
        """Show what a run was started with, or is to be started with."""
        self.parameters.set_values(launch.parameters)
        self.update_shape()
        self.options.set_values({name: getattr(launch, name) for name in self.options.controls})
        self.limits.set_values(budget_values(launch.budget))
        self.files.set_files(launch.files)
        self.models.fill_from_run(launch.models)
        self.efforts.fill(launch.effort)
        self.agents.set_launch(launch)

    def set_run(self, info: RunInfo, *, named: bool = True) -> None:
        """Show what a run was started with; its title and tags only if `named`."""
        launch = Launch.of(info)
        self.set_launch(launch if named else replace(launch, title='', tags=()))
        self.files.read_from(info)

    def update_shape(self) -> None:
        """Follow the parameters: draw a field for each role of the chart that they make."""
        parsed, _ = self.parameters.parse()
        try:
            values = parsed.model_dump(mode='json') if parsed else None
            catalog = self._backend().catalog
            shape = catalog.draw(self._pattern.name, values, self._pattern.version)
            agents = agents_of(self._pattern, values)
            given = (self.agents.parse() or {}).get('tools', {})
            workflow = self._pattern.sample(values)
            folders = folders_of_files(workflow, catalog.tools, models=self.models.chosen, tools=given)
        except EngineError:
            return
        self.files.show_use(bool(folders))
        if shape == self.shape or (parsed is None and self.shape is not None):
            return
        self.shape = shape
        roles = [role for state in shape.states for role in state.roles or (state.role,) if role]
        self.models.set_roles(roles)
        self.efforts.set_roles(roles)
        self.agents.set_agents(agents)

    def submit(self, *, models: bool = True, base: Launch | None = None) -> Launch | None:
        """Return the launch; if a field is invalid, focus the first and return None.

        Args:
            models: whether models and efforts matter.
            base: the launch that these fields change.
        """
        parameters, limits, options = self.parameters.check(), self.limits.check(), self.options.check()
        agents: AgentValues | None = {}
        if models:
            agents = self.agents.read() if self.models.check() & self.efforts.check() else None
        if not self.files.check():
            parameters = None
        plain = Launch(pattern=self._pattern.name)
        launch = self._make(parameters, limits, options, base or plain, models=models)
        if launch is None or agents is None:
            self.focus_problem()
            return None
        return replace(launch, **agents)

    def parse(self, base: Launch | None = None) -> Launch | None:
        """Return the launch so far, without showing problems; None if a field is invalid."""
        parameters, limits, options = self.parameters.parse(), self.limits.parse(), self.options.parse()
        plain = Launch(pattern=self._pattern.name)
        launch = self._make(parameters[0], limits[0], options[0], base or plain)
        agents = self.agents.parse()
        return None if launch is None or agents is None else replace(launch, **agents)

    def _make(
        self,
        parameters: BaseModel | None,
        limits: BaseModel | None,
        options: BaseModel | None,
        base: Launch,
        *,
        models: bool = True,
    ) -> Launch | None:
        if parameters is None or not isinstance(limits, BudgetLimits) or options is None:
            return None
        return replace(
            base.change(options.model_dump()),
            parameters=parameters.model_dump(mode='json'),
            files=self.files.chosen,
            models=self.models.chosen if models else {},
            effort=self.efforts.chosen if models else {},
            budget=limits.budget,
        )

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show each problem at its field: `models.judge`, `budget.tokens`, or a parameter's own name."""
        parts: dict[str, Models | Efforts | Form | FilesField] = {
            'files': self.files,
            'models': self.models,
            'effort': self.efforts,
            'budget': self.limits,
        }
        by_part: dict[str, dict[str, str]] = {part: {} for part in ('', *parts)}
        by_role: dict[str, str] = {}
        for name, problem in problems.items():
            part, _, field = name.partition('.')
            is_own = name in self.parameters.controls  # A pattern may have a parameter `files`.
            known = part in parts and not is_own
            if part in HEADS and field:
                by_role[name] = problem
            else:
                by_part[part if known else ''][field if known else name] = problem
        self.agents.show_problems(by_role)
        for part, shown in parts.items():
            shown.show_problems(by_part[part])
        self.parameters.show_problems(by_part[''])
        self.focus_problem()

    def focus_problem(self) -> None:
        """Focus the first field with a problem."""
        for part in (
            self.options,
            self.limits,
            self.agents,
            self.efforts,
            self.models,
            self.files,
            self.parameters,
        ):
            part.focus_problem()  # in reverse order: the first problem on the page keeps the focus

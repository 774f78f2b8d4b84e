"""The forms of schedules and triggers: a name, when or what starts a run, and the run that it starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

from nicegui import ui
from pydantic import BaseModel, ConfigDict, Field, create_model

from engine import Catalog
from engine.records import Launch
from ui.app.backend import Backend
from ui.app.services.schedules import Schedule, SchedulePolicy
from ui.formatting.values import capitalize
from ui.web.components.forms.fields import TEXT_KINDS, fields
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Box, Text
from ui.web.pages.schedules.timing import Timing, due_words, spec_of, timing_model, timing_of, timing_words
from ui.web.pages.shared.launching.launch_fields import LaunchFields

OVERLAPS: dict[str, Any] = {
    'skip': 'Skip this one',
    'buffer_one': 'Wait until it has ended',
    'allow_all': 'Start anyway',
    'cancel_other': 'Cancel the previous run',
}
DEBOUNCE_SECONDS = 0.4
"""Seconds without a change before the fields of the roles follow."""
MODELS_SECONDS = 0.1
"""Seconds until the endpoints' models are asked for."""
SHOWN_TIMES = 5
MINUTE = 60.0
LATE: Any = {'group': 'Late, overlapping and failed runs'}


class NameField(BaseModel):
    """The name of a schedule or trigger."""

    model_config = ConfigDict(str_strip_whitespace=True)

    name: str = Field(min_length=1, max_length=200, title='Name')


class PolicyFields(BaseModel):
    """What a schedule does about runs that are late, overlap or fail."""

    overlap: Literal['skip', 'buffer_one', 'allow_all', 'cancel_other'] = Field(
        'skip', title='If the previous run has not ended', json_schema_extra={'labels': OVERLAPS, **LATE}
    )
    catch_up: float = Field(
        60.0,
        ge=0,
        title='Catch up',
        description='After an outage, runs start up to this many minutes late',
        json_schema_extra=LATE,
    )
    pause_on_failure: bool = Field(False, title='Pause after a failed run', json_schema_extra=LATE)


class LaunchChoice:
    """The choice of a pattern, and the fields of a launch with it."""

    def __init__(
        self,
        backend: Backend,
        launch: Launch | None,
        *,
        on_pattern: Callable[[], None] = lambda: None,
        without: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Draw the choice; `show` draws the fields, in which a launch, if given, is shown.

        Args:
            backend: the way to the conductor.
            launch: what is edited.
            on_pattern: called when another pattern is chosen, before its fields are drawn.
            without: returns the parameters that are given elsewhere.
        """
        self._backend, self._launch = backend, launch
        self._on_pattern, self._without = on_pattern, without
        self._fields: LaunchFields | None = None
        self._pattern = launch.pattern if launch else ''
        self._choice = Form(_pattern_model(backend().catalog, self._pattern), on_change=self._choose)
        self._choice.set_values({'pattern': self._pattern})
        self.head = Box('ghost')
        """A place for more, between the pattern and its fields."""
        self._place = Box('form')
        self._follow = ui.timer(DEBOUNCE_SECONDS, self._update_roles, active=False, immediate=False)

    @property
    def parameters(self) -> dict[str, str]:
        """The titles of the chosen pattern's parameters, by name."""
        pattern = self._backend().catalog.patterns.get(self._pattern)
        return {field.name: field.title for field in fields(pattern.Parameters)} if pattern else {}

    def show(self) -> None:
        """Draw the fields for what is to be given here; what is entered stays."""
        raw = self._fields.raw if self._fields else {}
        self._draw()
        if self._fields and raw:
            self._fields.fill(raw)
        elif self._fields and self._launch:
            self._fields.set_launch(self._launch)

    def submit(self) -> Launch | None:
        """Return the launch; if a field is invalid, focus the first and return None."""
        same = self._launch if self._launch and self._launch.pattern == self._pattern else None
        launch = self._fields.submit(base=same) if self._fields else same
        return launch if self._choice.submit() else None

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems by the paths of a launch's fields, and focus the first."""
        if self._fields:
            self._fields.show_problems(
                {name.removeprefix('parameters.'): problems[name] for name in problems}
            )

    def _on_edit(self) -> None:
        self._follow.deactivate()
        self._follow.activate()

    def _update_roles(self) -> None:
        self._follow.deactivate()
        if self._fields:
            self._fields.update_shape()

    def _choose(self) -> None:
        """Show the fields of another pattern; texts for which it has a field as well stay."""
        if self._choice.raw['pattern'] == self._pattern:
            return
        self._pattern = self._choice.raw['pattern']
        before = self._fields.parameters.controls if self._fields else {}
        self._on_pattern()
        self._draw()
        after = self._fields.parameters.controls if self._fields else {}
        for name in before.keys() & after.keys():
            if {before[name].field.kind, after[name].field.kind} <= set(TEXT_KINDS):
                after[name].set_content(before[name].raw)

    def _draw(self) -> None:
        pattern = self._backend().catalog.patterns.get(self._pattern)
        self._place.clear()
        self._fields = None
        with self._place:
            if pattern is None:
                if self._pattern:
                    Text('p', 'This pattern is not available here. Its input stays as it is.', 'muted')
                return
            self._fields = LaunchFields(
                self._backend, pattern, on_change=self._on_edit, without=self._without()
            )
            self._fields.update_shape()
            ui.timer(MODELS_SECONDS, self._fields.models.load, once=True)


def _pattern_model(catalog: Catalog, chosen: str) -> type[BaseModel]:
    """Return the form's model of the choice of a pattern, among those available and the one `chosen`."""
    labels = {name: pattern.title for name, pattern in catalog.patterns.items()}
    names = tuple(sorted({*labels, *filter(None, [chosen])}, key=lambda name: labels.get(name, name)))
    choice: Any = Literal[names], Field(title='Pattern', json_schema_extra={'labels': {**labels}})
    return create_model('PatternField', pattern=choice)


class ScheduleEditor:
    """The form of a schedule, with its next times in words."""

    def __init__(self, backend: Backend, schedule: Schedule | None, reader: str) -> None:
        """Draw it for a reader in a time zone; '' if that is not known."""
        self._backend, self._schedule, self._reader = backend, schedule, reader
        spec = schedule.spec if schedule else None
        self._name = Form(NameField, on_change=lambda: None)
        with Box('timing', 'section', aria_label='When'):
            self._timing = Form(timing_model(spec, reader), on_change=self._show_next)
            self._next = Box('next-times', role='status')
        self._launch = LaunchChoice(backend, schedule.action if schedule else None)
        self._launch.show()
        self._policy = Form(PolicyFields, on_change=lambda: None)
        if schedule:
            policy = schedule.policy
            self._name.set_values({'name': schedule.name})
            self._timing.set_values(timing_of(schedule.spec))
            self._policy.set_values(
                {
                    'overlap': policy.overlap,
                    'catch_up': policy.catchup_window / MINUTE,
                    'pause_on_failure': policy.pause_on_failure,
                }
            )
        self._show_next()

    def submit(self) -> dict[str, Any] | None:
        """Return the schedule's values; if a field is invalid, focus the first and return None."""
        policy, launch = self._policy.submit(), self._launch.submit()
        timing, name = self._timing.submit(), self._name.submit()  # upwards: the first keeps the focus
        if not (isinstance(timing, Timing) and isinstance(policy, PolicyFields) and launch and name):
            return None
        return {
            **name.model_dump(),
            'action': launch,
            'spec': spec_of(timing, self._schedule.spec if self._schedule else None),
            'policy': SchedulePolicy(
                overlap=policy.overlap,
                catchup_window=policy.catch_up * MINUTE,
                pause_on_failure=policy.pause_on_failure,
            ),
        }

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems, by the paths of the record's fields, and focus the first."""
        parts: dict[str, dict[str, str]] = {'action.': {}, 'spec': {}, 'policy.': {}, '': {}}
        for path, problem in problems.items():
            part = next(begin for begin in parts if path.startswith(begin))
            parts[part][path.removeprefix(part)] = problem
        self._launch.show_problems(parts['action.'])
        self._policy.show_problems(
            {name.replace('catchup_window', 'catch_up'): text for name, text in parts['policy.'].items()}
        )
        self._timing.show_problems({_timing_field(name): text for name, text in parts['spec'].items()})
        self._name.show_problems(parts[''])
        for form in (self._policy, self._timing, self._name):
            form.focus_problem()

    def _show_next(self) -> None:
        """Show what the fields mean: in words, and by the next times."""
        timing, _ = self._timing.parse()
        self._next.clear()
        if not isinstance(timing, Timing):
            return
        spec, now = (
            spec_of(timing, self._schedule.spec if self._schedule else None),
            self._backend().clock.now(),
        )
        if spec.problems():
            return
        times = spec.next(now, SHOWN_TIMES)
        with self._next:
            Text('p', timing_words(spec) if times else f'{timing_words(spec)}: never due again')
            with Box('next-list', 'ol'):
                for here, there in due_words(times, spec.time_zone, self._reader, now):
                    with Box(tag='li'):
                        Text('span', capitalize(here))
                        Text('span', there, 'muted')


def _timing_field(path: str) -> str:
    if path == '.time_zone':
        return 'time_zone'
    return 'cron' if path.startswith('.cron') else 'repeat'

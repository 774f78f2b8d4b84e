"""The forms of schedules and triggers: a name, when or what starts a run, and the run that it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from engine.operations.experiments import Experiment
from ui.app.backend import Backend
from ui.app.services.schedules import Schedule, SchedulePolicy
from ui.formatting.values import capitalize
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Box, Text
from ui.web.pages.schedules.timing import Timing, due_words, spec_of, timing_model, timing_of, timing_words
from ui.web.pages.shared.launching.launch_choice import LaunchChoice

OVERLAPS: dict[str, Any] = {
    'skip': 'Skip this one',
    'buffer_one': 'Wait until it has ended',
    'allow_all': 'Start anyway',
    'cancel_other': 'Cancel the previous run',
}
RUN = ''
"""Stands for a run where an experiment can be chosen."""
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


class ScheduleEditor:
    """The form of a schedule, with its next times in words."""

    def __init__(
        self,
        backend: Backend,
        schedule: Schedule | None,
        reader: str,
        experiments: Sequence[Experiment] = (),
        chosen: Experiment | None = None,
    ) -> None:
        """Draw it.

        Args:
            backend: the way to the conductor.
            schedule: what is edited; None for a new one.
            reader: the time zone of the person; '' if it is not known.
            experiments: those that are offered, the newest first; of a name, the newest.
            chosen: the experiment that a new schedule starts.
        """
        self._backend, self._schedule, self._reader = backend, schedule, reader
        spec = schedule.spec if schedule else None
        self._name = Form(NameField, on_change=lambda: None)
        with Box('timing', 'section', aria_label='When'):
            self._timing = Form(timing_model(spec, reader), on_change=self._show_next)
            self._next = Box('next-times', role='status')
        scheduled = schedule.experiment if schedule else chosen
        self._experiments = {item.name: item for item in reversed(experiments)}
        self._experiments |= {scheduled.name: scheduled} if scheduled else {}
        with Box('ghost') as choice:
            self._starts = Form(_starts_model([*self._experiments]), on_change=self._show_launch)
        choice.set_visibility(bool(self._experiments))
        with Box('ghost') as self._of_run:
            self._launch = LaunchChoice(backend, schedule.action if schedule else None)
            self._launch.show()
        self._starts.set_values({'experiment': scheduled.name if scheduled else RUN})
        self._show_launch()
        self._policy = Form(PolicyFields, on_change=lambda: None)
        if chosen:
            self._name.set_values({'name': chosen.name})
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
        experiment = self._experiments.get(self._starts.raw['experiment'])
        policy, launch = self._policy.submit(), None if experiment else self._launch.submit()
        timing, name = self._timing.submit(), self._name.submit()  # upwards: the first keeps the focus
        if not (
            isinstance(timing, Timing)
            and isinstance(policy, PolicyFields)
            and name
            and (launch or experiment)
        ):
            return None
        return {
            **name.model_dump(),
            'action': launch,
            'experiment': experiment,
            'spec': spec_of(timing, self._schedule.spec if self._schedule else None),
            'policy': SchedulePolicy(
                overlap=policy.overlap,
                catchup_window=policy.catch_up * MINUTE,
                pause_on_failure=policy.pause_on_failure,
            ),
        }

    def show_problems(self, problems: Mapping[str, str]) -> None:
        """Show problems, by the paths of the record's fields, and focus the first."""
        parts: dict[str, dict[str, str]]
        parts = {'action.': {}, 'experiment': {}, 'spec': {}, 'policy.': {}, '': {}}
        for path, problem in problems.items():
            part = next(begin for begin in parts if path.startswith(begin))
            parts[part][path.removeprefix(part)] = problem
        self._launch.show_problems(parts['action.'])
        self._policy.show_problems(
            {name.replace('catchup_window', 'catch_up'): text for name, text in parts['policy.'].items()}
        )
        self._timing.show_problems({_timing_field(name): text for name, text in parts['spec'].items()})
        problem = '; '.join(parts['experiment'].values())
        self._starts.show_problems({'experiment': problem} if problem else {})
        self._name.show_problems(parts[''])
        for form in (self._policy, self._starts, self._timing, self._name):
            form.focus_problem()

    def _show_launch(self) -> None:
        """Show the fields of a run if that is what it starts."""
        self._of_run.set_visibility(self._starts.raw['experiment'] not in self._experiments)

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


def _starts_model(experiments: Sequence[str]) -> type[BaseModel]:
    """Return the form's model of what is started: a run, or one of these experiments again."""
    names = (RUN, *experiments)
    labels = {RUN: 'A run', **{name: f'Experiment: {name}' for name in experiments}}
    choice: Any = Literal[names], Field(RUN, title='Starts', json_schema_extra={'labels': {**labels}})
    return create_model('StartsField', experiment=choice)


def _timing_field(path: str) -> str:
    if path == '.time_zone':
        return 'time_zone'
    return 'cron' if path.startswith('.cron') else 'repeat'

"""Cases: “Add to dataset” for a run, with what a person would have expected, for many, for a launch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import count as counting
from typing import Any

from nicegui import ui
from pydantic import BaseModel, ConfigDict, Field, create_model

from engine import Conductor, EngineError
from engine.operations.experiments import Case, UnknownDataset, case_of
from engine.records import FileContent, Launch, RunInfo, Status
from engine.workspace import read_given_files
from ui.formatting.experiments.expectations import expectation_text, read_expectation
from ui.formatting.values import count
from ui.web.components.dialogs import await_answer, dialog_frame, draw_dialog_actions, notify_errors
from ui.web.components.forms.form import Form
from ui.web.components.widgets import Text

ONE = 'The run becomes a case: its parameters, and what is expected. Correct its answer where it fell short.'
INPUT = 'What the form holds becomes a case: the parameters and the files, and what is expected.'
MANY = 'Each becomes a case with its parameters. {:,} of them have an answer, which is expected again.'
SHARED: dict[str, Any] = {
    'tags': (list[str], Field([], max_length=50, title='Tags', json_schema_extra={'inline': True})),
    'split': (str, Field('', max_length=100, title='Split', description='Such as train or test')),
}


async def add_to_dataset(
    conductor: Conductor, infos: Sequence[RunInfo], expectations: Sequence[Any] | None = None
) -> None:
    """Ask for the dataset and what is expected, and add the runs to it as cases.

    `expectations` are shown first, one for each run; by default, what the runs have answered.
    """
    names = await notify_errors(_names(conductor))
    if names is None:
        return
    answers = expectations or [await _answer(conductor, info) for info in infos]
    files = await notify_errors(_files(conductor, infos))
    if files is None:
        return
    is_single = len(infos) == 1
    title = 'Add to dataset' if is_single else f'Add {count(len(infos), "run")} to a dataset'
    with dialog_frame(title, 'wide') as dialog:
        Text('p', ONE if is_single else MANY.format(sum(answer is not None for answer in answers)), 'muted')
        form = Form(_model(names, is_single=is_single), on_change=lambda: None)
        values = {'dataset': names[0] if len(names) == 1 else ''}
        if is_single:
            values['expectation'] = expectation_text(answers[0])
        form.set_values(values)

        async def save() -> None:
            fields = form.submit()
            if fields is None:
                return
            given = fields.model_dump()
            cases = []
            for info, answer, own in zip(infos, answers, files, strict=True):
                expected = read_expectation(given['expectation'], answer) if is_single else answer
                case = case_of(info, answer, expected, own)
                case = replace(case, expectation=expected, tags=tuple(given['tags']), split=given['split'])
                cases.append(case)
            if await notify_errors(_add(conductor, given['dataset'], cases)):
                dialog.submit(given['dataset'])

        draw_dialog_actions(dialog, 'Add', save)
    if added := await await_answer(dialog):
        ui.notify(f'Added to {added}.', type='positive')


async def add_launch_to_dataset(conductor: Conductor, launch: Launch) -> None:
    """Ask for the dataset and what is expected, and add what a launch form holds to it as a case."""
    names = await notify_errors(_names(conductor))
    if names is None:
        return
    with dialog_frame('Add to dataset', 'wide') as dialog:
        Text('p', INPUT, 'muted')
        form = Form(_model(names, is_single=True), on_change=lambda: None)
        form.set_values({'dataset': names[0] if len(names) == 1 else ''})

        async def save() -> None:
            fields = form.submit()
            if fields is None:
                return
            given = fields.model_dump()
            case = Case(
                id='',
                parameters=dict(launch.parameters),
                files=launch.files,
                expectation=read_expectation(given['expectation']),
                tags=tuple(given['tags']),
                split=given['split'],
            )
            if await notify_errors(_add(conductor, given['dataset'], [case])):
                dialog.submit(given['dataset'])

        draw_dialog_actions(dialog, 'Add', save)
    if added := await await_answer(dialog):
        ui.notify(f'Added to {added}.', type='positive')


def _model(names: Sequence[str], *, is_single: bool) -> type[BaseModel]:
    """Return the form's model: a dataset there is, or the name of a new one, and what is expected."""
    suggestions: dict[str, Any] = {'suggestions': list(names)}
    dataset = Field(
        min_length=1,
        max_length=200,
        title='Dataset',
        description='One of yours, or the name of a new one',
        json_schema_extra=suggestions,
    )
    expectation: Any = Field(
        '',
        max_length=200_000,
        title='Expected',
        description='What a good answer is: a text, or JSON; empty if nothing is known',
        json_schema_extra={'multiline': True},
    )
    own: dict[str, Any] = {'expectation': (str, expectation)} if is_single else {}
    config = ConfigDict(str_strip_whitespace=True)
    return create_model('AddedCase', __config__=config, dataset=(str, dataset), **own, **SHARED)


async def _names(conductor: Conductor) -> list[str]:
    return [item.name for item in await conductor.datasets.list()]


async def _answer(conductor: Conductor, info: RunInfo) -> Any:
    """Return what a run is to answer again: None if it is not done, or its history cannot be read."""
    if info.status is not Status.DONE:
        return None  # what it had so far is no answer
    try:
        shape, view = await asyncio.gather(conductor.shape(info.id), conductor.view(info.id))
    except EngineError:
        return None
    return view.memory.get(shape.answer) if shape.answer else None


async def _files(conductor: Conductor, infos: Sequence[RunInfo]) -> list[dict[str, FileContent]]:
    """Return the files that each run was started with. Raises `WorkspaceError` if they are not kept."""
    return [await read_given_files(conductor.workspaces, info) for info in infos]


async def _add(conductor: Conductor, dataset: str, cases: Sequence[Case]) -> bool:
    """Save a version with these cases, in place of those of the same runs; one without an id gets a number.

    Of several runs, those that are in the dataset already keep what is expected: a person may have
    corrected it.
    """
    try:
        before = await conductor.datasets.cases(dataset)
    except UnknownDataset:
        before = ()
    taken = {case.id for case in before}
    free = (number for place in counting(len(before) + 1) if (number := str(place)) not in taken)
    cases = [case if case.id else replace(case, id=next(free)) for case in cases]
    note = f'Added {count(len(cases), "run")}' if cases[0].source else f'Added {cases[0].id}'
    if len(cases) > 1:
        known = {case.id: case.expectation for case in before if case.expectation is not None}
        cases = [replace(case, expectation=known.get(case.id, case.expectation)) for case in cases]
    added = {case.id for case in cases}
    others = [case for case in before if case.id not in added]
    await conductor.datasets.save(dataset, [*others, *cases], note=note)
    return True

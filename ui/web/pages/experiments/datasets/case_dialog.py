"""Adding or changing a case: its name, parameters, files, what is expected, tags and split."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from engine.operations.experiments import Case
from ui.app.backend import Backend
from ui.formatting.experiments.expectations import expectation_text, read_expectation
from ui.web.components.dialogs import await_answer, dialog_frame, draw_dialog_actions
from ui.web.components.forms.form import Form
from ui.web.pages.shared.launching.files_field import FilesField

MULTILINE: dict[str, Any] = {'multiline': True}


class CaseFields(BaseModel):
    """The fields of a case as a form shows them."""

    model_config = ConfigDict(str_strip_whitespace=True)

    id: str = Field(min_length=1, max_length=200, title='Name of the case')
    parameters: dict[str, Any] = Field({}, title='Parameters', description='As JSON, by their names')
    expectation: str = Field(
        '',
        max_length=200_000,
        title='Expected',
        description='A text, or JSON; empty if nothing is known',
        json_schema_extra=MULTILINE,
    )
    tags: list[str] = Field([], max_length=50, title='Tags', json_schema_extra={'inline': True})
    split: str = Field('', max_length=100, title='Split', description='Such as train or test')


async def edit_case(backend: Backend, case: Case | None, taken: Collection[str]) -> Case | None:
    """Ask for a case; `taken` are the names of the others. None if the dialog is cancelled."""
    with dialog_frame('Edit case' if case else 'Add case', 'wide') as dialog:
        form = Form(CaseFields, on_change=lambda: None)
        files = FilesField(backend, on_change=lambda: None)
        if case:
            form.set_values(
                {
                    'id': case.id,
                    'parameters': dict(case.parameters),
                    'expectation': expectation_text(case.expectation),
                    'tags': case.tags,
                    'split': case.split,
                }
            )
            files.set_files(case.files)

        def save() -> None:
            fields = form.submit()
            if not files.check():
                files.focus_problem()
                return
            if not isinstance(fields, CaseFields):
                return
            if fields.id in taken:
                form.show_problems({'id': 'must be another name: there is such a case already'})
                return
            dialog.submit(
                replace(
                    case or Case(id=fields.id),
                    id=fields.id,
                    parameters=fields.parameters,
                    files=files.chosen,
                    expectation=read_expectation(fields.expectation, case.expectation if case else None),
                    tags=tuple(fields.tags),
                    split=fields.split,
                )
            )

        draw_dialog_actions(dialog, 'Save', save)
    return cast(Case | None, await await_answer(dialog))

"""The page that saves a run as a test: what it expects, a check, its file, and its case in a dataset."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from engine.history import Redaction
from engine.operations.experiments import CheckResult, ExperimentFile
from engine.records import RunId, RunInfo, Shape
from ui.app.backend import Backend
from ui.formatting.values import as_sentence, count
from ui.web.components.theme import button, frame, notice, page_head, text_notice
from ui.web.components.widgets import Box, Text
from ui.web.exports.formats import file_name, to_yaml
from ui.web.pages.fork.regression_test.expectations import ExpectationsForm
from ui.web.pages.shared import errors
from ui.web.pages.shared.add_to_dataset import add_to_dataset
from ui.web.pages.shared.run_list.actions import ADD_TO_DATASET
from ui.web.routing import serve_page

SUMMARY = 'Replays the recorded answers through the pattern as it is then, without models or tools.'


def register(backend: Backend) -> None:
    """Serve `/runs/{run}/test`."""

    @serve_page('/runs/{run}/test')
    async def page(run: str) -> None:
        conductor = backend()
        try:
            info = await conductor.info(RunId(run))
            test, shape = await conductor.save_test(info.id), await conductor.shape(info.id)
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(f'Regression test · {info.title}'):
            page_head('Regression test', SUMMARY, back=(f'/runs/{info.id}', info.title))
            TestForm(backend, info, test, shape)


class TestForm:
    """The form of a test, with a button to check it and one to download it."""

    __test__ = False  # not a test case for pytest

    def __init__(self, backend: Backend, info: RunInfo, test: ExperimentFile, shape: Shape) -> None:
        """Draw it; it expects what the run did."""
        self._backend, self._info = backend, info
        with Box('card launch-form test-form'):
            self._form = ExpectationsForm(test, shape)
            with Box('form-foot'):
                self._result = Box('ghost', role='status')
                with Box('launch-actions'):
                    button('Download test', icon='download', kind='primary big').on('click', self._download)
                    self._check = button('Check now', icon='rule', requires='check').on('click', self._run)
                    add = button(ADD_TO_DATASET.text, icon=ADD_TO_DATASET.icon, requires='datasets.save')
                    add.on('click', self._add)

    def _download(self) -> None:
        if test := self._form.submit():
            text = to_yaml(test, Redaction.for_catalog(self._backend().catalog))
            ui.download.content(text.encode(), file_name(self._info, 'test'))

    async def _add(self) -> None:
        """Keep it as a case of a dataset, where the run itself is the recording."""
        if test := self._form.submit():
            await add_to_dataset(self._backend(), [self._info], [test.cases[0].expectation])

    async def _run(self) -> None:
        """Replay the test now, and show what came of it."""
        test = self._form.submit()
        if test is None:
            return
        self._check.props('disabled').classes('busy')
        try:
            result: CheckResult | str = await self._backend().check(test)
        except EngineError as error:
            result = str(error)
        finally:
            self._check.props(remove='disabled').classes(remove='busy')
        self._show(result)

    def _show(self, result: CheckResult | str) -> None:
        self._result.clear()
        with self._result:
            if isinstance(result, str):
                text_notice('fail', 'error', as_sentence(result))
                return
            (run,) = result.runs
            steps = count(run.steps, 'step')
            path = f'differs from the recording at step {run.parted}' if run.parted else 'as recorded'
            if run.passed:
                text_notice('done', 'check_circle', f'Passed: {steps}, {path}.')
                return
            with notice('fail', 'error'):
                Text('p', f'Failed: {steps}, {path}.')
                for miss in run.misses:
                    Text('p', as_sentence(miss.text.replace('not_visited', 'not visited')))

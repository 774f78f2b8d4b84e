"""The page that saves a run as a regression test: what it expects, a check, and its file."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from engine.history import Redaction, RegressionResult, RegressionTest
from engine.records import RunId, RunInfo, Shape
from ui.app.backend import Backend
from ui.formatting.forks import miss_text
from ui.formatting.values import as_sentence, count
from ui.web.components.theme import button, frame, notice, page_head, text_notice
from ui.web.components.widgets import Box, Text
from ui.web.exports.formats import file_name, to_yaml
from ui.web.pages.fork.regression_test.expectations import ExpectationsForm
from ui.web.pages.shared import errors
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

    def __init__(self, backend: Backend, info: RunInfo, test: RegressionTest, shape: Shape) -> None:
        """Draw it; it expects what the run did."""
        self._backend, self._info, self._test = backend, info, test
        with Box('card launch-form test-form'):
            self._form = ExpectationsForm(test.expect, shape)
            with Box('form-foot'):
                self._result = Box('ghost', role='status')
                with Box('launch-actions'):
                    button('Download test', icon='download', kind='primary big').on('click', self._download)
                    self._check = button('Check now', icon='rule', requires='check').on('click', self._run)

    def _read(self) -> RegressionTest | None:
        expect = self._form.submit()
        return self._test.model_copy(update={'expect': expect}) if expect else None

    def _download(self) -> None:
        if test := self._read():
            text = to_yaml(test, Redaction.for_catalog(self._backend().catalog))
            ui.download.content(text.encode(), file_name(self._info, 'test'))

    async def _run(self) -> None:
        """Replay the test now, and show what came of it."""
        test = self._read()
        if test is None:
            return
        self._check.props('disabled').classes('busy')
        try:
            result: RegressionResult | str = await self._backend.check(test)
        except EngineError as error:
            result = str(error)
        finally:
            self._check.props(remove='disabled').classes(remove='busy')
        self._show(result)

    def _show(self, result: RegressionResult | str) -> None:
        self._result.clear()
        with self._result:
            if isinstance(result, str):
                text_notice('fail', 'error', as_sentence(result))
                return
            steps = count(result.steps, 'step')
            path = f'differs from the recording at step {result.parted}' if result.parted else 'as recorded'
            if result.passed:
                text_notice('done', 'check_circle', f'Passed: {steps}, {path}.')
                return
            with notice('fail', 'error'):
                Text('p', f'Failed: {steps}, {path}.')
                for miss in result.misses:
                    Text('p', as_sentence(miss_text(miss).replace('not_visited', 'not visited')))

"""Content for a server's pages: accounts, a question, schedules, a trigger, destinations, runs."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from playwright.sync_api import Browser, Page

from engine.host.clock import RealClock
from engine.operations import Role
from storage import open_journal
from tests.browser.server import Server
from tests.tree import ROOT
from ui.app.access.access import Access

NAME, PASSWORD = 'ada', 'correct horse battery staple'
TASK = 'Should a small team adopt event sourcing for its order system?'
CHART = ROOT / 'tests' / 'support' / 'charts' / 'critique.chart.yaml'
NOWHERE = 'http://127.0.0.1:9/hook'
"""An address that refuses connections, so that the delivery log has an error."""


def add_account(server: Server) -> None:
    """Require a login on a server that has not started yet."""

    async def add() -> None:
        journal = await open_journal(server.database)
        try:
            accounts = Access(journal.documents, RealClock()).accounts
            await accounts.add(NAME, Role.ADMIN, PASSWORD)
            await accounts.add('grace', Role.VIEWER)
            await accounts.add_token(NAME, 'Nightly reports', Role.OPERATOR, 90)
        finally:
            await journal.close()

    with ThreadPoolExecutor(1) as elsewhere:  # Playwright's loop runs in this thread
        elsewhere.submit(asyncio.run, add()).result()


def log_in(page: Page, server: Server) -> None:
    """Log in after one wrong password, so that the audit log has a refused attempt."""
    page.goto(f'{server.url}/login')
    for password in ('a wrong password', PASSWORD):
        page.get_by_label('Name').fill(NAME)
        page.get_by_label('Password').fill(password)
        page.get_by_role('button', name='Log in').click()
    page.wait_for_url(f'{server.url}/')


def session(browser: Browser, server: Server) -> Any:
    """Log in, and return the `storage_state` of the context."""
    context = browser.new_context()
    log_in(context.new_page(), server)
    state = context.storage_state()
    context.close()
    return state


class Filler:
    """Creates content on a server, as the person whose page it is."""

    def __init__(self, page: Page, server: Server) -> None:
        self._page, self._request, self._url = page, page.request, server.url

    def fill(self) -> dict[str, str]:
        """Create content for every page, and return the ids of runs, a question and a group of variants."""
        action = {'pattern': 'pipeline', 'parameters': {'task': TASK}}
        nightly = {'action': action, 'spec': {'cron': ['30 2 * * *'], 'time_zone': 'Europe/Berlin'}}
        self._post('schedules', {'name': 'Nightly report', **nightly})
        late = {'name': 'Weekly review', **nightly, 'paused': True, 'note': 'Until the new model is here.'}
        self._post('schedules', late)
        webhook = {'name': 'New issue', 'action': action, 'mapping': {'task': '/issue/title'}}
        self._post('triggers', webhook)
        self._post('destinations', {'name': 'On call', 'address': NOWHERE})
        self._post('destinations', {'name': 'Ada', 'channel': 'email', 'address': 'ada@team.example'})
        done = self.run(TASK)
        deleted = self.run('Tea or coffee?')
        answer = self._request.delete(f'{self._url}/api/v1/runs/{deleted}', headers=self._own)
        assert answer.ok, answer.text()
        variants = [{'name': name, 'overrides': {'after': 'live'}} for name in ('A', 'B')]
        variants_made = self._post(f'runs/{done}/variants', {'at': 9, 'variants': variants})
        self._chart()
        experiment = self._experiment()
        waits = self.start(TASK, approvals='all')
        self._page.goto(f'{self._url}/inbox')
        question = self._page.get_by_role('article').get_attribute('data-ask')
        return {
            'run': done,
            'waits': waits,
            'question': question,
            'group': variants_made[0]['options']['group'],
            'experiment': experiment,
        }

    def run(self, task: str) -> str:
        """Run a task to its end, and return the run's id."""
        run = self.start(task)
        self._get(f'runs/{run}/result?wait=60')
        return run

    def start(self, task: str, **options: Any) -> str:
        """Start a run, and return its id."""
        return str(self._post('runs', {'pattern': 'pipeline', 'parameters': {'task': task}, **options})['id'])

    def _chart(self) -> None:
        """Save a chart in two versions."""
        path, text = f'{self._url}/api/v1/charts/critique', CHART.read_text('utf-8')
        timed = text.replace('output: Review', 'output: Review, within: 60').replace(
            'no rounds left', 'spent'
        )
        base = ''
        for version, note in ((text, ''), (timed, 'The critic gets a minute')):
            body = {'text': version, 'base': base, 'note': note}
            answer = self._request.put(path, data=body, headers=self._own)
            assert answer.ok, answer.text()
            base = answer.json()['version']

    def _experiment(self) -> str:
        """Run the sample experiment to its end, and return its id."""
        self._page.goto(f'{self._url}/experiments')
        self._page.get_by_role('button', name='Run the sample').click()
        self._page.wait_for_url(re.compile(r'/experiments/\w+$'))
        self._page.locator('.pill.done').first.wait_for(timeout=120_000)
        return self._page.url.rpartition('/')[2]

    @property
    def _own(self) -> dict[str, str]:
        return {'Origin': self._url}

    def _post(self, path: str, body: Any) -> Any:
        answer = self._request.post(f'{self._url}/api/v1/{path}', data=body, headers=self._own)
        assert answer.ok, answer.text()
        return answer.json()

    def _get(self, path: str) -> Any:
        answer = self._request.get(f'{self._url}/api/v1/{path}', timeout=120_000)
        assert answer.ok, answer.text()
        return answer.json()

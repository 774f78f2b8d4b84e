"""The samples of a dynamic agent and of the team in the launch form; one of each pattern runs to its end."""

import re

import pytest
from playwright.sync_api import expect

from engine import Catalog
from engine.models.scripted.library import Library

CATALOG = Catalog.load()
PATTERNS = ('debugger', 'supervisor')
SCENARIOS = Library.load().scenarios
ENDS = {'done': 'Done', 'failed': 'Failed'}
FALLS_SHORT = {'street-fair': 'Done with issues'}
"""The samples in which tasks fail on purpose: run as the last ones of their patterns."""


@pytest.mark.long
@pytest.mark.parametrize('pattern', PATTERNS)
def test_samples_fill_the_form_and_end_as_they_should(page, server, pattern):
    samples = [sample for sample in SCENARIOS if sample.pattern == pattern]
    samples.sort(key=lambda sample: sample.name in FALLS_SHORT)
    fields = CATALOG.pattern(pattern).Parameters.model_fields
    page.goto(f'{server.url}/launch/{pattern}')
    for sample in samples:
        page.get_by_role('button', name='Samples').click()
        page.get_by_role('menuitem', name=re.compile(re.escape(sample.title))).click()
        filled = page.get_by_label(str(fields[sample.field].title), exact=True)
        expect(filled).to_have_value(sample.task)
        expect(page.get_by_role('menu')).to_have_count(0)
    last = samples[-1]  # that all end as they should: tests/unit/engine/models/test_scenarios.py
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    ended = page.locator('.run-facts .pill').filter(has_text=re.compile('Done|Failed|Cancelled'))
    expect(ended).to_have_text(FALLS_SHORT.get(last.name, ENDS[last.expect.status]), timeout=60_000)

"""Every sample of the dynamic agents and of the team, from its launch page to its end."""

import re

import pytest
from playwright.sync_api import expect

from engine import Catalog
from engine.models.scripted.library import Library

CATALOG = Catalog.load()
PATTERNS = ('blog', 'builder', 'code-reviewer', 'debugger', 'podcast', 'supervisor', 'triager')
SAMPLES = [found for found in Library.load().scenarios if found.pattern in PATTERNS]
ENDS = {'done': 'Done', 'failed': 'Failed'}
FALLS_SHORT = {'street-fair': 'Done with issues'}
"""The samples in which tasks fail on purpose."""


def test_every_pattern_has_a_sample():
    assert {sample.pattern for sample in SAMPLES} == set(PATTERNS)


@pytest.mark.parametrize('sample', SAMPLES, ids=lambda sample: sample.name)
def test_a_sample_ends_as_it_should(page, server, sample):
    page.goto(f'{server.url}/launch/{sample.pattern}')
    page.get_by_role('button', name='Samples').click()
    page.get_by_role('menuitem', name=re.compile(re.escape(sample.title))).click()
    field = CATALOG.pattern(sample.pattern).Parameters.model_fields[sample.field]
    expect(page.get_by_label(str(field.title), exact=True)).to_have_value(sample.task)
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    ended = page.locator('.run-facts .pill').filter(has_text=re.compile('Done|Failed|Cancelled'))
    expected = FALLS_SHORT.get(sample.name, ENDS[sample.expect.status])
    expect(ended).to_have_text(expected, timeout=60_000)

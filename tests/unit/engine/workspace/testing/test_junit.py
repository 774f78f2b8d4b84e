"""JUnit XML reports of test programs."""

from __future__ import annotations

import pytest

from engine.workspace.testing import junit

XML = """<?xml version="1.0"?><testsuites><testsuite time="1.5">
<testcase classname="a" name="one"/><testcase classname="a" name="two"><failure message="m">trace
assert 1 == 2</failure></testcase><testcase name="three"><error message="broken"/></testcase>
<testcase name="four"><skipped/></testcase></testsuite></testsuites>"""


def test_a_report_is_counted_and_summarized() -> None:
    report = junit.parse_junit(XML)
    assert report is not None
    assert report.line == '1 passed, 1 failed, 1 errors, 1 skipped in 1.5 s'
    assert report.text == f'{report.line}\n\na::two\ntrace\nassert 1 == 2\n\nthree\nbroken'


def test_long_and_many_failures_are_cut() -> None:
    case = f'<testcase name="t"><failure>{"x" * 9_000}END</failure></testcase>'
    report = junit.parse_junit(f'<testsuite time="soon">{case * 50}</testsuite>')
    assert report is not None and len(report.text) < 40_000 and report.text.endswith('and 30 more')
    assert report.failures[0].detail.endswith('END') and report.seconds == 0


@pytest.mark.parametrize(
    'xml',
    ['', 'x', '<a', '<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', '<testsuite><!ENTITY x "y"></testsuite>'],
)
def test_an_invalid_report_is_ignored(xml: str) -> None:
    assert junit.parse_junit(xml) is None


def test_an_empty_report_says_so() -> None:
    report = junit.parse_junit('<testsuites/>')
    assert report is not None and report.line == 'no tests were found in 0.0 s'

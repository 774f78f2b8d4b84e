"""Parses JUnit XML reports and summarizes them for people and models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from xml.etree import ElementTree

MAX_DETAIL = 1_500
MAX_FAILURES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A test that did not pass."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of a test run."""

    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: float
    failures: tuple[Failure, ...] = ()

    @property
    def line(self) -> str:
        """The counts: `12 passed, 1 failed in 0.4 s`."""
        return f'{format_counts(self) or "no tests were found"} in {self.seconds:.1f} s'

    @property
    def text(self) -> str:
        """The counts, and the details of tests that did not pass."""
        details = [f'{failure.name}\n{failure.detail}' for failure in self.failures[:MAX_FAILURES]]
        more = len(self.failures) - MAX_FAILURES
        return '\n\n'.join([self.line, *details, *([f'and {more} more'] if more > 0 else [])])


class Counted(Protocol):
    """Tests, counted by their outcome."""

    @property
    def passed(self) -> int:
        """How many passed."""

    @property
    def failed(self) -> int:
        """How many failed."""

    @property
    def errors(self) -> int:
        """How many could not be run."""

    @property
    def skipped(self) -> int:
        """How many were skipped."""


def format_counts(tests: Counted, grouping: str = '') -> str:
    """Return the counts, such as `40 passed, 2 failed`; '' without tests. `grouping` separates thousands."""
    counts = {
        'passed': tests.passed,
        'failed': tests.failed,
        'errors': tests.errors,
        'skipped': tests.skipped,
    }
    return ', '.join(f'{count:{grouping}} {name}' for name, count in counts.items() if count)


def parse_junit(xml: str) -> Report | None:
    """Parse a report in JUnit's XML; None if it is none, or defines entities."""
    if '<!DOCTYPE' in xml or '<!ENTITY' in xml:
        return None  # A few lines of entity definitions can expand to exhaust memory.
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError:
        return None
    suites = [root] if root.tag == 'testsuite' else root.findall('testsuite')
    cases = [case for suite in suites for case in suite.iter('testcase')]
    failed = [(case, element) for case in cases if (element := case.find('failure')) is not None]
    broken = [(case, element) for case in cases if (element := case.find('error')) is not None]
    skipped = [case for case in cases if case.find('skipped') is not None]
    bad = {id(case) for case, _ in failed + broken} | {id(case) for case in skipped}
    return Report(
        passed=sum(id(case) not in bad for case in cases),
        failed=len(failed),
        errors=len(broken),
        skipped=len(skipped),
        seconds=sum(_number(suite.get('time')) for suite in suites),
        failures=tuple(_failure(case, element) for case, element in failed + broken),
    )


def _failure(case: ElementTree.Element, element: ElementTree.Element) -> Failure:
    name = '::'.join(part for part in (case.get('classname'), case.get('name')) if part)
    detail = (element.text or element.get('message') or '').strip()
    # The end of a traceback shows what went wrong.
    return Failure(name=name, detail=detail if len(detail) <= MAX_DETAIL else f'…{detail[-MAX_DETAIL:]}')


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0

"""Counts the tests that passed, and finds that some failed, in the summaries that test runners print."""

from __future__ import annotations

import re

SUMMARY = re.compile(
    r"""
    \b(\d+)\ (?:passed|passing)\b           # pytest, Jest, Vitest, Mocha, cargo, Playwright
    | ^[\#\u2139]\ pass\ (\d+)$               # Node
    | ^\s*(\d+)\ pass$                      # Bun
    | ^Ran\ (\d+)\ tests?\b                 # unittest
    | ^OK\ \((\d+)\ tests?\b                # PHPUnit
    | ^(\d+)\ examples?,\ 0\ failures       # RSpec
    | ^\[\ \ PASSED\ \ \]\ (\d+)\ test      # GoogleTest
    | \ tests\ failed\ out\ of\ (\d+)$      # CTest
    | ^ok\ \ \t.*\t(?:\(cached\)|[\d.]+s)(?!.*no\ tests\ to\ run)()   # Go, by package
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Summaries, each with a number; without digits, it stands for one."""
NO_TESTS = re.compile(r'^\s*(Test Suites|Test Files|Snapshots)\b.*$', re.MULTILINE)
"""Lines that count something else in the same words."""
TAP = re.compile(r'^ok \d+\b(?!.*#\s*(skip|todo))', re.MULTILINE | re.IGNORECASE)


FAILURES = re.compile(
    r"""
    \b[1-9]\d*\ (?:failed|failing)\b
    | ^[\#\u2139]\ fail\ [1-9]
    | ^FAILED\ \((?:failures|errors)=      # unittest
    | ^FAIL\b                              # Go, Jest
    | ^not\ ok\ \d+\b(?!.*\#\s*todo)      # TAP
    """,
    re.VERBOSE | re.MULTILINE,
)


def reports_failures(output: str) -> bool:
    """Return whether a command's output says that tests failed, whatever its exit status."""
    return FAILURES.search(output) is not None


def count_passed(output: str) -> int:
    """Return how many tests passed as a command's output says; 0 if it says nothing of tests."""
    numbers = [
        next(group for group in match.groups() if group is not None)
        for match in SUMMARY.finditer(NO_TESTS.sub('', output))
    ]
    return sum(int(number or 1) for number in numbers) or len(TAP.findall(output))

"""The tests that passed, as the summaries of usual runners count them."""

from __future__ import annotations

import pytest

from engine.workspace.testing.test_counts import count_passed, reports_failures


@pytest.mark.parametrize(
    ('output', 'tests'),
    [
        ('==== 3 passed, 1 skipped in 0.12s ====', 3),
        ('Test Suites: 2 passed, 2 total\nTests:       5 passed, 5 total\nSnapshots:   1 passed, 1 total', 5),
        (' Test Files  2 passed (2)\n      Tests  4 passed (4)', 4),
        ('  7 passing (20ms)', 7),
        ('# tests 2\n# pass 2\n# fail 0', 2),
        ('\u2139 pass 2\n\u2139 fail 0\n\n\u2139 pass 1', 3),
        ('test result: ok. 2 passed; 0 failed; 0 ignored\n\ntest result: ok. 1 passed; 0 failed', 3),
        ('Ran 6 tests in 0.001s\n\nOK', 6),
        ('ok  \tshop/a\t0.002s\nok  \tshop/b\t(cached)\n?   \tshop/c\t[no test files]', 2),
        ('ok  \tshop/a\t0.002s [no tests to run]', 0),
        ('1..2\nok 1 - adds\nok 2 - reads # SKIP later', 1),
        ('100% tests passed, 0 tests failed out of 9', 9),
        ('[  PASSED  ] 3 tests.', 3),
        ('OK (3 tests, 4 assertions)', 3),
        ('4 examples, 0 failures', 4),
        ('Ran 0 tests in 0.000s\n\nOK', 0),
        ('collected 0 items\n==== no tests ran in 0.01s ====', 0),
        ('built in 3 passes; everything is ok', 0),
    ],
)
def test_passed_tests_are_counted(output: str, tests: int) -> None:
    assert count_passed(output) == tests and not reports_failures(output)


@pytest.mark.parametrize(
    'output',
    [
        '==== 1 failed, 3 passed in 0.12s ====',
        'Tests:       1 failed, 4 passed, 5 total',
        '  7 passing (20ms)\n  1 failing',
        '# pass 2\n# fail 1',
        'Ran 2 tests in 0.1s\n\nFAILED (failures=1)',
        'ok  \tshop/a\t0.002s\nFAIL\tshop/b\t0.002s',
        'ok 1 - adds\nnot ok 2 - reads',
    ],
)
def test_failures_are_found_though_the_command_succeeds(output: str) -> None:
    assert reports_failures(output)

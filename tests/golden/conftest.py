"""`pytest tests/golden --regenerate` records the journals anew; look at what changed before you commit it."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--regenerate', action='store_true', help='record the golden journals anew')

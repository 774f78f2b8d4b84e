"""`pytest tests/golden --regenerate` records the journals again; review changes before you commit them."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption('--regenerate', action='store_true', help='record the golden journals again')

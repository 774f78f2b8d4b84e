"""What is slow to load is not loaded before it is needed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ('loaded', 'package'),
    [
        ('import engine; engine.Catalog.load()', 'mcp'),
        ('import engine, engine.wire.line', 'genai_prices'),
        ('import ui.cli', 'nicegui'),
        ('import ui.cli', 'sqlmodel'),
    ],
)
def test_a_package_is_not_loaded_before_it_is_needed(loaded: str, package: str) -> None:
    code = f'import sys; {loaded}; sys.exit({package!r} in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0

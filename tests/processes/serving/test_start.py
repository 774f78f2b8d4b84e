"""Slow imports are deferred until they are needed."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ('loaded', 'package'),
    [
        ('import engine; engine.Catalog.load()', 'mcp'),
        ('import engine, engine.models.http.endpoint_client', 'genai_prices'),
        ('import ui.server.app', 'mcp'),
        ('import ui.server.app, ui.server.serve', 'ui.api.app'),
        ('import ui.cli.app', 'engine'),
        ('from ui.cli.commands import COMMANDS, load; [load(name) for name in COMMANDS]', 'nicegui'),
        ('from ui.cli.commands import COMMANDS, load; [load(name) for name in COMMANDS]', 'sqlmodel'),
    ],
)
def test_a_package_is_not_loaded_before_it_is_needed(loaded: str, package: str) -> None:
    code = f'import sys; {loaded}; sys.exit({package!r} in sys.modules)'
    assert subprocess.run([sys.executable, '-c', code], check=False).returncode == 0

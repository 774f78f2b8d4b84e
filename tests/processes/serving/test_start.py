"""Slow imports are deferred until needed, or omitted if they never are."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ('loaded', 'packages'),
    [
        (
            'import engine; engine.Catalog.load()',
            ['mcp', 'charset_normalizer', 'feedparser', 'icalendar', 'markdown_it'],
        ),
        ('import engine, engine.models.http.endpoint_client', ['genai_prices']),
        ('import storage', ['sqlalchemy.dialects.postgresql']),
        (
            'from ui.server import serve; serve.load_nicegui(); import ui.server.app',
            ['mcp', 'ui.api.app', 'aiohttp', 'requests'],
        ),
        ('import ui.cli.app', ['engine']),
        (
            'from ui.cli.commands import COMMANDS, load; [load(name) for name in COMMANDS]',
            ['nicegui', 'sqlmodel'],
        ),
    ],
)
def test_packages_are_imported_lazily(loaded: str, packages: list[str]) -> None:
    code = f'import sys; {loaded}; print(*{{*{packages}}} & {{*sys.modules}})'
    ended = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True)
    assert ended.stdout.split() == []


def test_a_package_hidden_from_nicegui_can_be_imported_later() -> None:
    code = 'from ui.server import serve; serve.load_nicegui(); import aiohttp, requests'
    subprocess.run([sys.executable, '-c', code], check=True)

"""Slow imports are deferred until needed, or omitted if they never are."""

import subprocess
import sys

STEPS = (
    ('import ui.cli.app', ['engine']),
    (
        'import importlib, inspect, re; from ui.cli import commands; '
        'places = re.findall(r"\'([a-z_.]+):[a-z_]+\'", inspect.getsource(commands)); '
        'assert len(places) > 80; [importlib.import_module(f"ui.cli.{place}") for place in places]',
        ['nicegui', 'sqlmodel'],
    ),
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
    ('import aiohttp, requests', []),  # hidden from NiceGUI, they can be imported later
)
"""What one process loads, step by step, and which packages must still be missing after each."""


def test_packages_are_imported_lazily() -> None:
    lines = [f'{loaded}; print(*{{*{packages}}} & {{*sys.modules}})' for loaded, packages in STEPS]
    code = '\n'.join(['import sys', *lines])
    ended = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True)
    assert ended.stdout.splitlines() == [''] * len(STEPS)

"""What is wrong with the configuration file is named by section and field, and no key is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.configuration import load_configuration
from engine.errors import EngineError

KEY = 'k-very-secret-1234'
COMMAND = 'command = "a"\n'


@pytest.mark.parametrize(
    ('section', 'settings', 'problem'),
    [
        ('endpoints.x', 'url = "ftp://x"', r'endpoints\.x\.url: String should match'),
        ('endpoints.x', 'at_once = 0', r'endpoints\.x\.at_once'),
        ('endpoints.x', '', r'endpoints\.x: url: required'),
        (
            'endpoints.x',
            f'url = "https://x"\ncertificate_password = "{KEY}"',
            'certificate_password: say where',
        ),
        ('endpoints.x', 'url = "https://x"\ncertificate_key = "a.key"', 'certificate_key: requires a certif'),
        ('endpoints.X', 'url = "http://x"', r'endpoints\.X: a name may contain only lowercase letters'),
        ('endpoints.x', 'provider = "opnai"', "provider: there is no 'opnai'; available: openai"),
        ('endpoints.openai', f'key = "{KEY}"', 'never write the key itself'),
        ('endpoint.x', '', 'endpoint: Extra inputs'),
        ('endpoints.x', '[endpoints.y', "endpoints.toml: Expected ']'"),
        ('prices.x', 'input = -1\noutput = 0', r'prices\.x\.input'),
        ('mcp.x', '', r'mcp\.x: it needs either command or url'),
        ('mcp.x', f'{COMMAND}url = "http://b"', r'mcp\.x: it needs either command or url'),
        ('mcp.x', 'url = "ftp://b"', r'mcp\.x\.url'),
        ('mcp.X', COMMAND, r'mcp\.X: a name may contain only lowercase letters'),
        (f'mcp.{"x" * 33}', COMMAND, '32 at most'),
        ('mcp.x', f'{COMMAND}seconds = 0', r'mcp\.x\.seconds'),
        ('mcp.x', f'{COMMAND}approvals = "some"', r'mcp\.x\.approvals'),
        ('mcp.x', 'comand = "a"', r'mcp\.x\.comand: Extra inputs'),
        ('agents.x', '', r'agents\.x: command: required, .*known agents: claude, codex, gemini'),
        ('agents.X', COMMAND, r'agents\.X: a name may contain only lowercase letters'),
        ('agents.scripted', COMMAND, r'agents\.scripted: this is the name of the agent that comes with'),
        ('agents.x', f'{COMMAND}idle = 0', r'agents\.x\.idle'),
        ('agents.x', f'{COMMAND}approvals = "some"', r'agents\.x\.approvals'),
        ('agents.x', 'comand = "a"', r'agents\.x\.comand: Extra inputs'),
        ('agents.x', f'{COMMAND}files = ["/etc/passwd"]', r'agents\.x: files: .* inside your home'),
        ('agents.x', f'{COMMAND}sandboxed = false\nnetwork = false', r'agents\.x: network: only a sandbox'),
        ('agents.x', f'{COMMAND}sandboxed = false\nreads = ["/opt"]', r'agents\.x: reads: without a'),
    ],
)
def test_a_problem_names_its_section_and_field(
    tmp_path: Path, section: str, settings: str, problem: str
) -> None:
    (tmp_path / 'endpoints.toml').write_text(f'[{section}]\n{settings}', 'utf-8')
    with pytest.raises(EngineError, match=problem) as caught:
        load_configuration(tmp_path / 'endpoints.toml', {})
    assert KEY not in str(caught.value)

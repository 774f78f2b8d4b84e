"""Configuring external agents: valid settings, and the agents' catalog entries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Catalog
from engine.configuration import load_configuration
from engine.records.run_info import Approvals
from engine.tools.acp import ExternalAgents
from engine.tools.acp.known_agents import KNOWN_AGENTS

KEY = 'k-very-secret-1234'


def write_configuration(tmp_path: Path, text: str) -> Path:
    file = tmp_path / 'endpoints.toml'
    file.write_text(text)
    return file


def test_agents_are_configured_next_to_endpoints(tmp_path: Path) -> None:
    file = write_configuration(
        tmp_path,
        '[agents.claude]\nenv = {ANTHROPIC_MODEL = "big"}\nvariables = ["WORK_KEY"]\napprovals = "all"\n'
        '[agents.mine]\ncommand = "my-agent"\nargs = ["acp"]\nenv = {TOKEN = "env:MINE"}\nsandboxed = false\n'
        '[agents.lost]\ncommand = "x"\nenv = {TOKEN = "env:NOBODY"}\n[agents.goose]\noff = true\n',
    )
    settings = load_configuration(file, {'MINE': KEY}, lambda service, user: None)
    claude, mine = settings.agents['claude'], settings.agents['mine']
    assert (claude.command, claude.variables, claude.approvals) == ('claude-agent-acp', ('WORK_KEY',), 'all')
    assert claude.env == {'ANTHROPIC_MODEL': 'big'} and claude.install.startswith('npm install')
    assert mine.env == {'TOKEN': KEY} and mine.secrets == (KEY,) and KEY not in repr(mine)
    assert settings.missing_agents == {'lost': 'the environment variable NOBODY is not set'}
    agents = ExternalAgents(settings.agents, settings.missing_agents, settings.agents_off)
    assert 'agent:goose' not in agents and 'agent:gemini' in agents and 'agent:mine' in agents
    assert agents.secret_filters[0].redact_text(f'it is {KEY}') == 'it is [hidden]'


def test_known_agents_need_no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / 'goose'
    program.write_text('#!/bin/sh\n')
    program.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path))
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    infos = {info.name: info for info in ExternalAgents().infos()}
    assert set(infos) == set(KNOWN_AGENTS)
    assert not infos['goose'].problem and infos['goose'].keys == ('OPENAI_API_KEY',)
    assert 'It sees the variables OPENAI_API_KEY. It has network access.' in infos['goose'].reach
    assert KEY not in repr(infos['goose'])
    assert infos['claude'].problem == "there is no program 'claude-agent-acp' here"
    assert infos['claude'].install == 'npm install -g @agentclientprotocol/claude-agent-acp'
    assert not infos['scripted'].problem and infos['scripted'].simulated


@pytest.mark.parametrize(
    ('settings', 'approvals', 'mode', 'is_refused'),
    [
        ({}, 'marked', 'agent-full-access', False),
        ({}, 'none', 'agent-full-access', False),
        ({}, 'all', 'read-only', True),
        ({'approvals': 'all'}, 'marked', 'read-only', True),
        ({'sandboxed': False}, 'marked', 'workspace-write', False),
        ({'sandboxed': False}, 'all', 'read-only', False),
        ({'mode': 'workspace-write'}, 'all', 'workspace-write', False),
    ],
)
def test_codex_asks_nobody_in_the_sandbox_and_says_so(
    settings: dict[str, Any], approvals: Approvals, mode: str, is_refused: bool
) -> None:
    """Its own sandbox does not start in ours: commands fail there, and none is asked about."""
    codex = replace(KNOWN_AGENTS['codex'], **settings)
    assert codex.mode_for(codex.approvals_for(approvals)) == mode
    model = ExternalAgents({'codex': codex})['agent:codex']
    assert ('choose `marked` or `none`' in model.approvals_problem(approvals)) is is_refused
    assert ('It asks nobody' in model.reach) is (codex.sandboxed and not codex.mode)


def test_a_catalog_resolves_agents_like_models_but_lists_them_separately() -> None:
    catalog = Catalog.load()
    assert 'agent:scripted' in catalog.registry and 'agent:scripted' not in list(catalog.registry)
    assert catalog.registry['agent:scripted'].simulated and not catalog.registry['agent:claude'].simulated
    assert 'agent:nobody' not in catalog.registry

"""What commands refuse: each names the option, argument or field that is wrong, and changes nothing."""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.support.cli import Hemicycle, invoke

MANY_TAGS = ' '.join(f'--tag={number}' for number in range(21))
REFUSALS = [
    ('agent test yours', "NAME: there is no agent 'yours'; available: "),
    ('breakpoint add last --enter reviewing', "does not accept 'breakpoints' now: it is done"),
    ('breakpoint add last --once', 'give a place or a condition'),
    ("breakpoint test last 'loops >= 2'", "does not accept 'breakpoints' now: it is done"),
    ('destination add a nowhere', 'address: must be a URL such as'),
    ('destination add a nobody --channel email', 'address: must be an e-mail address'),
    ('destination add a x --channel pigeon', '--channel: must be one of webhook, slack'),
    ('destination add a https://a.example --event all', '--event: must be one of'),
    ('destination add a https://a.example --secret whsec_1', 'secret: must be whsec_'),
    ('destination change a', 'change: give what to change: --name, --channel'),
    ('destination change a --paused', "DESTINATION: there is no destination 'a'; available: none"),
    ('destination message resend msg_0', "there is no message 'msg_0'"),
    ('destination remove a', "DESTINATION: there is no destination 'a'"),
    ('destination test a', "DESTINATION: there is no destination 'a'"),
    ('endpoint add My_House --url http://house.example', 'NAME: must be 1 to 32 lower-case letters'),
    ('endpoint add a --provider nobody --url http://a.example', '--provider: must be one of'),
    ('endpoint add house', '--url: is needed unless --provider or NAME is one of'),
    ('endpoint add house --url house.example', '--url: must begin with http:// or https://'),
    ('endpoint add openai --key sk-1234', '--key: must be env:NAME, keyring:SERVICE/USER or file:NAME'),
    ('endpoint add openai --key env:A --key-stdin', '--key-stdin: cannot be used with --key'),
    ('endpoint add openai --key-stdin', '--key-stdin: no key was given'),
    ('endpoint test --model small', '--model: needs NAME'),
    ('endpoint change house', 'change: give what to change'),
    ('endpoint change house --model m', "NAME: there is no endpoint 'house' in"),
    ('endpoint remove house', "NAME: there is no endpoint 'house' in"),
    ('endpoint test house', "NAME: there is no endpoint 'house'; available: "),
    ('fork retry last', 'it has not failed'),
    ('fork send-back last nobody Go', 'agent: nobody has not finished a turn'),
    ("fork send-back last reviewing ' '", 'TEXT: must not be empty'),
    ('fork start last --at 4 --play backwards', 'after'),
    ('fork start last --at 4 --prompt reviewer', '--prompt'),
    ('fork start last --at 4 --set nothing=1', 'nothing'),
    ('fork start last --at 4 --set-memory iteration=1', '--set-memory'),
    ('fork start last --at 4 --tools poet=calculator', 'tools.poet'),
    ('mcp-server add small', '--command: give either --command or --url'),
    ('mcp-server add small --command x --approvals some', '--approvals: must be one of'),
    ('mcp-server add small --command x --env A', '--env: must be NAME=VALUE'),
    ('mcp-server add small --command x --url http://x.example', 'give either --command or --url'),
    ("mcp-server add small --command ' '", '--command: names no program'),
    ("""mcp-server add small --command '"x'""", '--command: cannot be read'),
    ('mcp-server add small --url x.example', '--url: must begin with http:// or https://'),
    ('mcp-server change small', 'change: give what to change'),
    ("mcp-server change small --tool '*'", "NAME: there is no MCP server 'small' in"),
    ('mcp-server test small', "NAME: there is no MCP server 'small'; available: none"),
    ('pattern draw nothing', "there is no pattern 'nothing'"),
    ('pattern draw supervisor --format png', '--format: must be mermaid, dot, svg'),
    ('pattern draw supervisor --set depth=9', 'depth: there is no such parameter'),
    ('pattern draw supervisor --set workers=9', 'workers: Input should be less than or equal to 6'),
    ('pattern traffic pipeline --since yesterday', '--since: must be a date'),
    ('resume last', 'it is done'),
    ('run pipeline --task tea --model nope/x', "models: there is no model 'nope/x'"),
    ('run pipeline --task tea --model reviewer=nope/x', "models.reviewer: there is no model 'nope/x'"),
    ('run pipeline --task tea --model a --model b', 'once for each role'),
    ('run pipeline --task tea --model reviewer=', 'must be [ROLE=]MODEL'),
    ('runs change last', 'give what to change: --title, --tag'),
    (f'runs change last --note {"x" * 10_001}', '--note: must have at most 10,000 characters'),
    ("runs change last --tag ' '", '--tag: must not be empty'),
    (f'runs change last {MANY_TAGS}', '--tag: a run can have at most 20 tags'),
    ("runs change last --title ' '", '--title: must have 1 to 200 characters'),
    ('runs change last --untag nothing', "--untag: the run has no tag 'nothing'; it has: demo"),
    ('runs export --family', '--family needs --bundle'),
    ('runs export --html --bundle', 'choose one'),
    ('runs export nobody', "no run 'nobody'"),
    ('runs list --edge reviewing', '--edge: must be two states'),
    ('runs list --failed', '--failed: needs --state'),
    (f'runs list --limit {10**20}', 'Invalid value'),
    (f'runs list --offset {10**20}', 'Invalid value'),
    ('runs list --status lost', 'lost'),
    ('runs note add last x', "Missing option '--at'"),
    ('runs note add last x --at 999', 'has no step 999'),
    ("runs note add last '' --at 1", 'note: it needs 1 to 10,000 characters'),
    (f'runs note change last {10**20} Better', 'Invalid value'),
    ('runs note remove last 7', 'has no note 7'),
    (f'runs note remove last {10**20}', 'Invalid value'),
    ('schedule change', "Missing argument 'SCHEDULE'"),
    ('schedule change nightly', 'change: give what to change'),
    ("schedule change nightly --cron 'at noon'", "'at noon' is not a cron expression"),
    ('schedule change nightly --overlap queue', '--overlap: must be one of skip, buffer_one'),
    ('schedule change nightly --pattern nothing', "there is no pattern 'nothing'"),
    ('schedule change nightly --set colour=red', 'action.parameters.colour: '),
    ('schedule change weekly --name x', "SCHEDULE: there is no schedule 'weekly'; available: nightly"),
    ('show last --report', 'has no report'),
    ('show zzzz', "there is no run 'zzzz'"),
    ('tool list --category toys', '--category: must be one of'),
    ('tool show abacus', "there is no tool 'abacus'; available: "),
    ('tool test calculator --set expression', '--set: must be NAME=VALUE'),
    ('trigger add a', 'action.pattern: '),
    ('trigger add a --files /in/* --secret whsec_YQ==', '--secret: signs webhooks'),
    ('trigger add a --pattern pipeline', 'action.parameters.task: '),
    ('trigger add a --pattern pipeline --map task', '--map: must be NAME=VALUE'),
    ('trigger add a --pattern pipeline --map task=/x --files in', 'files: must be an absolute'),
    ('trigger add a --pattern pipeline --map task=title', 'mapping.task: must be a JSON Pointer'),
    ('trigger change issues', 'change: give what to change: --name'),
    ('trigger change issues --files /in/*', '--files: issues is set off by webhooks'),
    ('trigger change other --paused', "TRIGGER: there is no trigger 'other'; available: issues"),
    ('trigger remove other', "TRIGGER: there is no trigger 'other'"),
    ('user change ada', 'give what to change: --role, --password'),
    ('user change ada --revoke-tokens', '--revoke-tokens: needs --password'),
    ('worker list', '--temporal: give the address'),
    ('worker list --temporal nowhere', '--temporal: must be HOST:PORT'),
]


@pytest.fixture(scope='module')
def filled(done: Hemicycle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hemicycle]:
    """A database with a run, a schedule, a trigger and an account, and no configuration file."""
    folder = tmp_path_factory.mktemp('filled')
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv('HEMICYCLE_ENDPOINTS', str(folder / 'endpoints.toml'))
        hemicycle = Hemicycle(folder, like=done)
        invoke(hemicycle, 'schedule', 'add', 'nightly', '--pattern', 'pipeline', '--set', 'task=News?',
               '--cron', '30 2 * * *')  # fmt: skip
        invoke(hemicycle, 'trigger', 'add', 'issues', '--pattern', 'pipeline', '--map', 'task=/title')
        invoke(hemicycle, 'user', 'add', 'ada', '--no-password')
        yield hemicycle


@pytest.mark.parametrize(('command', 'problem'), REFUSALS, ids=[command[:60] for command, _ in REFUSALS])
def test_a_refusal_names_what_is_wrong_and_changes_nothing(
    filled: Hemicycle, command: str, problem: str
) -> None:
    before = contents(filled)
    assert problem in invoke(filled, *shlex.split(command), code=2)
    assert contents(filled) == before
    assert not (filled.home / 'endpoints.toml').exists()


def contents(hemicycle: Hemicycle) -> list[str]:
    with closing(sqlite3.connect(hemicycle.database)) as file:
        return list(file.iterdump())

"""Commands shown in the README and the guides exist with their options; none of them is run."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.support.cli import all_commands
from tests.tree import ROOT

DEPLOY = ROOT / 'assets' / 'deploy'
PAGES = [ROOT / 'README.md', DEPLOY / 'README.md', *sorted((ROOT / 'assets' / 'guide').glob('*.md'))]
BLOCK = re.compile(r'```(?:sh|console)?\n(.*?)```', re.DOTALL)
CALL = re.compile(r'(?:^|&& |\| |[A-Z_]+=\S+ |\$ )(?:\.venv/bin/)?hemicycle ((?!&&).+?)(?= && | \| |$)')


def find_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the page and the words of each command in a code block."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text('utf-8')):
            for line in block.replace('\\\n', ' ').splitlines():
                for words in CALL.findall(line):
                    yield page.name, shlex.split(words, comments=True)


def find_deployed_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the command of each systemd unit and container."""
    for unit in sorted(DEPLOY.glob('*.service')):
        (line,) = re.findall(r'^ExecStart=\S+/hemicycle (.+)$', unit.read_text(), re.MULTILINE)
        yield unit.name, line.split()
    yield (
        'Dockerfile',
        json.loads(re.findall(r'^CMD (.+)$', (DEPLOY / 'Dockerfile').read_text(), re.MULTILINE)[0]),
    )
    for name, service in compose()['services'].items():
        if 'hemicycle' in service['image']:
            yield f'compose.yaml: {name}', service['command']


def compose() -> Any:
    return yaml.safe_load((DEPLOY / 'compose.yaml').read_text())


def parse(words: list[str]) -> None:
    """Parse the words as the command line does, without running anything."""
    commands, known = all_commands(), words[0]
    rest = words[1:]
    assert known in commands, f'there is no command {known!r}'
    while hasattr(commands[known], 'commands') and rest and rest[0][0] != '-':
        known, rest = f'{known} {rest[0]}', rest[1:]
        assert known in commands, f'there is no command {known!r}'
    command = commands[known]
    _, extra, _ = command.make_parser(command.context_class(command)).parse_args(rest)
    assert not extra, f'{known} takes no {extra[0]!r}'


def test_every_documented_command_exists(subtests: pytest.Subtests) -> None:
    calls = [*find_commands(), *find_deployed_commands()]
    assert len(calls) > 30
    for page, words in calls:
        with subtests.test(f'{page}: {shlex.join(words)}'):
            parse(words)


def test_the_container_proxy_lists_its_web_servers() -> None:
    services = compose()['services'].values()
    addresses = [
        service['networks']['fleet']['ipv4_address']
        for service in services
        if service.get('command', [''])[0] == 'serve'
    ]
    proxied = re.findall(r'^ *server ([\d.]+):8080 ', (DEPLOY / 'nginx-fleet.conf').read_text(), re.MULTILINE)
    assert len(addresses) == 2 and addresses == proxied


@pytest.mark.parametrize(
    'line', ['runs list --colour red', 'forecast last', 'user explode', 'runs audit one two']
)
def test_an_unknown_command_is_noticed(line: str) -> None:
    with pytest.raises(Exception, match=r'colour|forecast|explode|two'):
        parse(line.split())

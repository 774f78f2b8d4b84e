"""The README's commands of curl are run as they are, against a server; and its entry for a chat agent."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.server import Server
from tests.tree import ROOT

pytestmark = pytest.mark.commands
README = (ROOT / 'README.md').read_text('utf-8')


@pytest.mark.skipif(not (shutil.which('curl') and shutil.which('jq')), reason='curl and jq are not installed')
def test_curl_launches_follows_and_answers_a_run(tmp_path: Path) -> None:
    block = next(one for one in re.findall(r'```sh\n(.*?)```', README, re.DOTALL) if 'curl' in one)
    server = Server(tmp_path)
    server.start()
    try:
        script = block.replace('http://127.0.0.1:8080', server.url)
        ran = subprocess.run(['bash', '-c', script], capture_output=True, text=True, timeout=120, check=False)
    finally:
        server.stop()
    assert ran.returncode == 0, ran.stderr
    assert 'event: step' in ran.stdout and 'approve' in ran.stdout.split(), ran.stdout
    assert ran.stdout.rstrip().splitlines()[-1] not in ('', 'null'), ran.stdout


def test_the_entry_of_a_chat_agent_names_a_command_that_exists() -> None:
    [entry] = re.findall(r'```json\n(.*?)```', README, re.DOTALL)
    command = json.loads(entry)['mcpServers']['hemicycle']
    assert command == {'command': 'hemicycle', 'args': ['mcp']}

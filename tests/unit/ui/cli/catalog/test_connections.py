"""hemicycle tool, endpoint, mcp-server and agent: listed, tested, connected, changed and removed."""

import sys
from pathlib import Path

import pytest

from tests.browser.provider import KEY, Google, provider
from tests.support.cli import Hemicycle, invoke, json_lines

SERVER = Path(__file__).parents[4] / 'support' / 'mcp' / 'server.py'
COMMAND = f'{sys.executable} {SERVER} stdio'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration file, which does not exist yet."""
    path = tmp_path / 'endpoints.toml'
    monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(path))
    return path


@pytest.fixture
def hemicycle(hemicycle: Hemicycle, file: Path) -> Hemicycle:
    return hemicycle


def test_tools_are_listed_and_shown(hemicycle: Hemicycle) -> None:
    listed = json_lines(invoke(hemicycle, 'tool', 'list', '--json'))
    assert {'calculator', 'write_file'} <= {entry['name'] for entry in listed}
    of_files = json_lines(invoke(hemicycle, 'tool', 'list', '--category', 'files', '--json'))
    assert {file['category'] for file in of_files} == {'files'}
    output = invoke(hemicycle, 'tool', 'show', 'calculator')
    assert output.startswith('calculator  ') and '--set expression=' in output
    assert 'calculator' in invoke(hemicycle, 'tool', 'list')


def test_a_tool_is_tried(hemicycle: Hemicycle) -> None:
    assert invoke(hemicycle, 'tool', 'test', 'calculator', '--set', 'expression=2 + 3').strip() == '5'
    (tried,) = json_lines(invoke(hemicycle, 'tool', 'test', 'calculator', '--set', 'expression=1', '--json'))
    assert tried['ok'] and tried['text'] == '1'
    assert not hemicycle.database.exists()


def test_a_tool_that_fails_is_reported(hemicycle: Hemicycle) -> None:
    result = hemicycle('tool', 'test', 'calculator', '--set', 'expression=1 / 0')
    assert result.exit_code == 1 and 'zero' in result.stdout


def test_files_of_a_tried_tool_are_named(hemicycle: Hemicycle) -> None:
    result = hemicycle('tool', 'test', 'write_file', '--set', 'path=a.txt', '--set', 'text=x')
    assert result.exit_code == 0 and 'scratch folder: a.txt  1 B' in result.stderr, result.output


def test_an_endpoint_is_added_changed_tested_and_removed(
    hemicycle: Hemicycle, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('HOUSE_KEY', KEY)
    with provider(Google) as url:
        added = hemicycle(
            'endpoint', 'add', 'house', '--provider', 'gemini', '--url', url, '--key', 'env:HOUSE_KEY'
        )
        assert added.exit_code == 0, added.output
        assert 'house: is available and offers' in added.stdout and f'saved in {file}' in added.stderr
        invoke(hemicycle, 'endpoint', 'change', 'house', '--model', 'gemini-flash', '--no-test')
        assert 'models = ["gemini-flash"]' in file.read_text() and KEY not in file.read_text()
        assert invoke(hemicycle, 'endpoint', 'test', 'house') == 'house: gemini-flash answered a call\n'
        (listed,) = (
            endpoint
            for endpoint in json_lines(invoke(hemicycle, 'endpoint', 'list', '--json'))
            if endpoint['found'] == 'file'
        )
        assert (listed['endpoint'], listed['key']) == ('house', 'env:HOUSE_KEY')
        assert 'house  ' in invoke(hemicycle, 'endpoint', 'list')
        unknown = invoke(hemicycle, 'endpoint', 'test', 'house', '--model', 'gemini-pro', code=1)
        assert 'house: gemini-pro: ' in unknown
    assert 'house: ' in invoke(hemicycle, 'endpoint', 'test', 'house', code=1)
    invoke(hemicycle, 'endpoint', 'remove', 'house')
    assert 'house' not in file.read_text()


def test_a_key_that_is_entered_is_kept_shown_nowhere_and_removed(
    hemicycle: Hemicycle, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with provider() as url:
        monkeypatch.setenv('HEMICYCLE_OPENAI_URL', url)
        added = hemicycle('endpoint', 'add', 'openai', '--key-stdin', stdin=f'{KEY[:-1]}\n')
        assert added.exit_code == 1 and 'openai: ' in added.output
        changed = hemicycle('endpoint', 'change', 'openai', '--key-stdin', stdin=f'{KEY}\n')
        assert changed.exit_code == 0 and 'offers 22 models' in changed.stdout, changed.output
        assert KEY[:-1] not in added.output + changed.output
    keys = hemicycle.home / 'keys.json'
    assert [
        path for path in file.parent.rglob('*') if path.is_file() and KEY[:-1].encode() in path.read_bytes()
    ] == [keys]
    (listed,) = json_lines(invoke(hemicycle, 'endpoint', 'list', '--json'))
    assert (listed['key'], listed['tested']['problem']) == ('file:openai', '')
    invoke(hemicycle, 'endpoint', 'remove', 'openai')
    assert KEY not in keys.read_text()


def test_what_exists_is_not_added_again(hemicycle: Hemicycle, file: Path) -> None:
    file.write_text('# mine\n[endpoints.house]\nurl = "http://127.0.0.1:9/v1"\n')
    command = ('endpoint', 'add', 'house', '--url', 'http://127.0.0.1:8/v1', '--no-test')
    assert 'change it with `change`' in invoke(hemicycle, *command, code=2)
    assert 'house' in invoke(hemicycle, 'endpoint', 'change', 'house', '--model', 'm', code=1)
    assert '# mine' in file.read_text() and 'models = ["m"]' in file.read_text()


def test_an_mcp_server_is_added_changed_and_removed(hemicycle: Hemicycle, file: Path) -> None:
    added = invoke(hemicycle, 'mcp-server', 'add', 'small', '--command', COMMAND, '--env', 'PLACE=here')
    assert 'small: is available and offers' in added and 'small_' in added
    (listed,) = json_lines(invoke(hemicycle, 'mcp-server', 'list', '--json'))
    assert (listed['server'], listed['problem']) == ('small', '')
    assert 'small_' in invoke(hemicycle, 'tool', 'list', '--category', 'small')
    changed = ('--url', 'http://127.0.0.1:9/mcp', '--header', 'X-Team=env:TEAM', '--approvals', 'all')
    invoke(hemicycle, 'mcp-server', 'change', 'small', *changed, '--no-test')
    text = file.read_text()
    assert 'url = "http://127.0.0.1:9/mcp"' in text and 'X-Team = "env:TEAM"' in text
    assert 'command' not in text and 'PLACE' not in text
    invoke(hemicycle, 'mcp-server', 'test', 'small', code=1)
    invoke(hemicycle, 'mcp-server', 'remove', 'small')
    assert invoke(hemicycle, 'mcp-server', 'list').startswith('no MCP server is connected')


def test_agents_are_listed_and_tested(hemicycle: Hemicycle, file: Path) -> None:
    file.write_text(
        '[agents.mine]\ncommand = "sh"\nargs = ["-c", "echo no licence >&2; exit 3"]\nsandboxed = false\n'
    )
    listed = json_lines(invoke(hemicycle, 'agent', 'list', '--json'))
    assert 'mine' in {entry['name'] for entry in listed}
    assert 'agent:mine  ' in invoke(hemicycle, 'agent', 'list')
    assert (
        invoke(hemicycle, 'agent', 'test', 'agent:mine', code=1)
        == 'mine: it ended with status 3: no licence\n'
    )


@pytest.mark.parametrize('command', ['endpoint', 'mcp-server', 'agent'])
def test_a_broken_configuration_is_reported(hemicycle: Hemicycle, file: Path, command: str) -> None:
    file.write_text('[agents.mine]\nsandbox = false\n')
    result = hemicycle(command, 'list')
    assert result.exit_code == 0 and 'agents.mine.sandbox: Extra inputs' in result.stderr

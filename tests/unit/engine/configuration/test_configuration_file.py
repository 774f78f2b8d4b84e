"""The configuration file: what is wrong is named and never shown, and edits preserve the rest."""

from pathlib import Path

import pytest

from engine import Catalog, EngineError
from engine.configuration import load_configuration
from engine.configuration.connections import CatalogEndpoints, CatalogServers
from engine.configuration.editing import Kind, read_section, remove_section, write_section
from engine.host.clock import SimulatedClock

FILE = """\
# Ours, since spring.
[endpoints.work]   # the gateway
url = "https://models.example/v1"
key = "env:WORK_KEY"  # from the vault
at_once = 4

# Keep three months.
[retention]
days = 90
"""


def endpoints_of(catalog: Catalog) -> CatalogEndpoints:
    return CatalogEndpoints(catalog, SimulatedClock())


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv('HEMICYCLE_HOME', str(tmp_path / 'home'))
    file = tmp_path / 'endpoints.toml'
    file.write_text(FILE)
    return file


def test_a_change_keeps_comments_order_and_other_settings(path: Path) -> None:
    section = {'url': 'https://other.example/v1', 'models': ['large'], 'key': ''}
    write_section(path, 'endpoints', 'work', section)
    assert path.read_text() == FILE.replace('models.example', 'other.example').replace(
        'key = "env:WORK_KEY"  # from the vault\nat_once = 4\n', 'at_once = 4\nmodels = ["large"]\n'
    )


def test_an_endpoint_is_added_and_removed_again(path: Path) -> None:
    write_section(path, 'endpoints', 'groq', {'key': 'env:GROQ_KEY'})
    assert read_section(path, 'endpoints', 'groq') == {'key': 'env:GROQ_KEY'}
    assert read_section(path, 'endpoints', 'work')['at_once'] == 4
    remove_section(path, 'endpoints', 'groq')
    assert [*filter(None, path.read_text().split('\n'))] == [*filter(None, FILE.split('\n'))]
    remove_section(path, 'endpoints', 'groq')  # already removed


MANY = """\
# Ask Ada first.
[endpoints.groq]  # fast
key = "env:GROQ_KEY"

[endpoints.lab]
url = "https://lab.example/v1"
[endpoints.lab.headers]
team = "ours"
# nothing else

# Servers
[mcp.git]
command = "uvx"

# Keep three months.
[retention]
days = 90

# The end.
"""


def test_a_comment_stays_with_the_section_that_follows_it(path: Path) -> None:
    path.write_text(MANY)
    write_section(path, 'endpoints', 'openai', {'key': 'env:OUR_KEY'})
    added = '[endpoints.openai]\nkey = "env:OUR_KEY"\n'
    assert path.read_text() == MANY.replace('\n# Servers', f'\n{added}\n# Servers')
    write_section(path, 'mcp', 'web', {'url': 'https://web.example/mcp'})
    assert (
        '[mcp.web]\nurl = "https://web.example/mcp"\n\n# Keep three months.\n[retention]' in path.read_text()
    )
    for kind, name in (('endpoints', 'openai'), ('mcp', 'web')):
        remove_section(path, kind, name)
    assert [*filter(None, path.read_text().split('\n'))] == [*filter(None, MANY.split('\n'))]


@pytest.mark.parametrize(('kind', 'names'), [('endpoints', ('lab', 'groq')), ('mcp', ('git',))])
def test_a_removed_section_leaves_the_comments_of_the_others(
    path: Path, kind: Kind, names: tuple[str]
) -> None:
    path.write_text(MANY)
    for name in names:
        remove_section(path, kind, name)
    for comment in ('# Ask Ada first.', '# Servers\n', '# Keep three months.\n[retention]', '# The end.'):
        assert comment in path.read_text()


def test_sections_in_any_order_are_added_and_removed(path: Path) -> None:
    first, second = '[endpoints.a]\nurl = "https://a.example"\n', '[mcp.x]\nurl = "https://x.example"\n'
    path.write_text(f'{first}# B\n{second}# C\n[endpoints.b]\nurl = "https://b.example"\n')
    write_section(path, 'endpoints', 'c', {'url': 'https://c.example'})
    assert read_section(path, 'endpoints', 'c') == {'url': 'https://c.example'}
    remove_section(path, 'endpoints', 'a')
    assert '# B\n[mcp.x]' in path.read_text()
    remove_section(path, 'mcp', 'x')
    assert '# C\n[endpoints.b]' in path.read_text()


def test_the_first_endpoint_creates_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    path = tmp_path / 'new' / 'endpoints.toml'
    write_section(path, 'endpoints', 'lab', {'provider': 'ollama', 'url': 'http://gpu.example:11434/v1'})
    assert path.read_text() == ('[endpoints.lab]\nprovider = "ollama"\nurl = "http://gpu.example:11434/v1"\n')
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ('name', 'values', 'problem'),
    [
        ('Work', {'url': 'https://a.example'}, 'lowercase letters'),
        ('new', {}, 'url: required'),
        ('new', {'url': 'models.example'}, 'endpoints.new.url'),
        ('openai', {'key': 'sk-1234567890'}, 'never write the key itself'),
        ('new', {'provider': 'nobody', 'url': 'https://a.example'}, "there is no 'nobody'"),
    ],
)
def test_an_invalid_change_is_refused_and_changes_nothing(path, name, values, problem) -> None:
    with pytest.raises(EngineError, match=problem) as caught:
        write_section(path, 'endpoints', name, values)
    assert 'sk-1234567890' not in str(caught.value)
    assert path.read_text() == FILE
    assert [file.name for file in path.parent.iterdir()] == ['endpoints.toml']


def test_a_file_that_cannot_be_read_is_not_overwritten(path: Path) -> None:
    path.write_text('[endpoints.work\n')
    with pytest.raises(EngineError, match=r'endpoints\.toml'):
        write_section(path, 'endpoints', 'groq', {'key': 'env:GROQ_KEY'})
    assert path.read_text() == '[endpoints.work\n'


async def test_a_connected_endpoint_is_usable_immediately(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv('WORK_KEY', raising=False)
    monkeypatch.setenv('LAB_KEY', 'secret')
    catalog = Catalog.load(endpoints=path)
    assert 'lab/tiny' not in catalog.registry
    section = {'url': 'https://lab.example/v1', 'key': 'env:LAB_KEY', 'models': ['tiny']}
    await endpoints_of(catalog).save('lab', section)
    assert not catalog.registry['lab/tiny'].simulated
    (work,) = [info for info in catalog.registry.endpoint_infos() if info.endpoint == 'work']
    assert 'WORK_KEY' in work.problem
    await endpoints_of(catalog).remove('lab')
    assert 'lab/tiny' not in catalog.registry
    assert [info.endpoint for info in catalog.registry.endpoint_infos() if info.found == 'file'] == ['work']


async def test_an_mcp_server_is_added_changed_used_and_removed(path: Path) -> None:
    path.write_text(f'{FILE}\n[mcp.git]\ncommand = "uvx"  # pinned below\nargs = ["mcp-server-git"]\n')
    catalog = Catalog.load(endpoints=path)
    values = {'command': 'uvx', 'args': ['mcp-server-git'], 'env': {'TOKEN': 'plain'}, 'oauth': False}
    await CatalogServers(catalog).save('git', values)
    await CatalogServers(catalog).save(
        'docs', {'url': 'https://docs.example/m', 'headers': {'X-Key': 'env:NO_KEY'}}
    )
    assert catalog.mcp.names == ('git', 'docs')
    assert [health.problem for health in catalog.mcp.last_health()] == [
        '',
        'the environment variable NO_KEY is not set',
    ]
    text = path.read_text()
    assert 'command = "uvx"  # pinned below\nargs = ["mcp-server-git"]\nenv = {TOKEN = "plain"}' in text
    with pytest.raises(EngineError, match='either command or url'):
        await CatalogServers(catalog).save('git', {'url': 'https://docs.example/mcp'})
    assert path.read_text() == text
    await CatalogServers(catalog).remove('git')
    await CatalogServers(catalog).remove('docs')
    assert catalog.mcp.names == ()
    assert path.read_text().strip() == FILE.strip()


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

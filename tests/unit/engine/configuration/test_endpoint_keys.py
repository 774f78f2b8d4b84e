"""Keys of endpoints that people paste, and tests that are remembered."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import Catalog, EngineError, InvalidInput
from engine.configuration.connections import CatalogEndpoints
from engine.host.clock import SimulatedClock
from engine.models.registry import EndpointInfo
from tests.browser.provider import KEY, provider


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that does not exist yet, on a system without a keyring."""
    monkeypatch.setenv('HEMICYCLE_HOME', str(tmp_path / 'home'))
    monkeypatch.setitem(sys.modules, 'keyring', None)
    return tmp_path / 'home'


class Connected:
    """The endpoints of an installation; another one in the same folder is the same after a restart."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / 'endpoints.toml'
        self.catalog, self.clock = Catalog.load(endpoints=self.file), SimulatedClock()
        self.endpoints = CatalogEndpoints(self.catalog, self.clock)

    async def info(self, name: str = 'lab') -> EndpointInfo:
        return next(info for info in await self.endpoints.list() if info.endpoint == name)


async def test_without_a_keyring_a_key_is_kept_in_a_file_of_its_owner_alone(
    tmp_path: Path, home: Path
) -> None:
    mine, file = Connected(tmp_path), home / 'keys.json'
    await mine.endpoints.save('lab', {'url': 'http://lab.example/v1'}, secret=f' {KEY}\n')
    assert (await mine.info()).key == 'file:lab'
    assert mine.catalog.registry.endpoints[0].key == KEY
    assert KEY in file.read_text() and file.stat().st_mode & 0o777 == 0o600
    assert [path for path in tmp_path.rglob('*') if path.is_file() and KEY in path.read_text()] == [file]
    assert mine.catalog.redact({'text': f'it is {KEY}'}) != {'text': f'it is {KEY}'}

    assert Connected(tmp_path).catalog.registry.endpoints[0].key == KEY
    await mine.endpoints.save('lab', {'models': ['large']})
    assert KEY in file.read_text()
    await mine.endpoints.save('lab', {'key': 'env:LAB_KEY'})
    assert KEY not in file.read_text()
    await mine.endpoints.save('lab', {}, secret=KEY)
    await mine.endpoints.remove('lab')
    assert KEY not in file.read_text()


async def test_a_key_is_kept_in_the_keyring_of_the_system(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[tuple[str, str], str] = {}
    ring = SimpleNamespace(
        priority=5,
        set_password=lambda service, user, secret: kept.update({(service, user): secret}),
        delete_password=lambda service, user: kept.pop((service, user)),
    )
    module = SimpleNamespace(
        get_keyring=lambda: ring, get_password=lambda service, user: kept.get((service, user))
    )
    monkeypatch.setitem(sys.modules, 'keyring', module)  # type: ignore[arg-type]
    mine = Connected(tmp_path)
    await mine.endpoints.save('openai', {}, secret=KEY)
    assert kept == {('hemicycle', 'openai'): KEY} and not home.exists()
    assert (await mine.info('openai')).key == 'keyring:hemicycle/openai'
    assert mine.catalog.registry.endpoints[0].key == KEY
    await mine.endpoints.remove('openai')
    assert not kept


@pytest.mark.parametrize(
    ('name', 'secret', 'problem'),
    [
        ('openai', f'{KEY} and more', 'must be a key: up to 4,096 ASCII characters'),
        ('openai', f'“{KEY}”', 'must be a key'),
        ('openai', KEY * 400, 'must be a key'),
        ('nobody', KEY, 'url: required'),
    ],
)
async def test_a_refused_key_is_kept_and_shown_nowhere(
    tmp_path: Path, home: Path, name: str, secret: str, problem: str
) -> None:
    mine = Connected(tmp_path)
    with pytest.raises((InvalidInput, EngineError), match=problem) as caught:
        await mine.endpoints.save(name, {}, secret=secret)
    assert KEY not in str(caught.value)
    assert not mine.file.exists() and not home.exists()


async def test_a_test_is_remembered_until_the_endpoint_changes(tmp_path: Path) -> None:
    mine = Connected(tmp_path)
    with provider() as url:
        await mine.endpoints.save('lab', {'url': url}, secret='not-the-key')
        await mine.clock.advance(60)
        assert (await mine.endpoints.test('lab')).kind == 'auth'
        again = Connected(tmp_path)
        tested = (await again.info()).tested
        assert tested and (tested.kind, tested.at) == ('auth', mine.clock.now())
        assert 'not-the-key' not in str(tested)

        await mine.endpoints.save('lab', {}, secret=KEY)
        assert (await mine.info()).tested is None
        health = await mine.endpoints.test('lab', model='small')
        assert (health.problem, health.called, len(health.models)) == ('', 'small', 22)
        assert (await mine.info()).tested == health


async def test_a_test_calls_a_small_model_of_a_known_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('tests.browser.provider.MODELS', ('gpt-5', 'gpt-5-mini-2025-08-07', 'sora-2'))
    mine = Connected(tmp_path)
    with provider() as url:
        await mine.endpoints.save('openai', {'url': url}, secret=KEY)
        assert (await mine.endpoints.test('openai')).called == 'gpt-5-mini-2025-08-07'

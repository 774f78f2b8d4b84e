"""Endpoints as a user configures them: one TOML file, environment variables, keys from outside both."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.errors import EngineError
from engine.keeping.retention import Retention
from engine.keeping.section import RetentionSection
from engine.mcp.section import McpSection
from engine.mcp.server import Server
from engine.wire.endpoint import Endpoint, Structure
from engine.wire.known import KNOWN
from engine.wire.prices import Price, Prices

NAME, LONGEST = r'^[a-z0-9][a-z0-9_-]*$', 32
NAMED = f'a name has small letters, digits, - and _ only; that of an MCP server {LONGEST} at most'


class _Table(BaseModel):
    model_config = ConfigDict(extra='forbid')


class Section(_Table):
    """`[endpoints.<name>]`: what is not given is as known of the provider, or as the dialect has it."""

    provider: str = ''
    """The known provider that it is like; its own name by default."""
    url: str | None = Field(None, pattern=r'^https?://')
    dialect: Literal['openai', 'anthropic'] | None = None
    key: str = ''
    """Where the key is: `env:NAME`, or `keyring:SERVICE/USER`. Never the key itself."""
    key_header: str | None = None
    headers: dict[str, str] = {}
    """Values may be `env:NAME` or `keyring:...`, too."""
    query: dict[str, str] = {}
    """Values as in `headers`."""
    body: dict[str, Any] = {}
    structure: Structure | None = None
    strict_tools: bool | None = None
    at_once: int | None = Field(None, ge=1)
    most_tokens: int | None = Field(None, ge=1)
    limit_field: str | None = None
    usage_option: bool | None = None
    short_ids: bool | None = None
    models: list[str] = []
    """Those to offer; where empty, what the provider lists."""
    off: bool = False


class PriceTable(_Table):
    """`[prices."<endpoint>/<model>"]`: dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)
    written: float | None = Field(None, ge=0)


class File(_Table):
    """The whole file."""

    endpoints: dict[str, Section] = {}
    prices: dict[str, PriceTable] = {}
    mcp: dict[str, McpSection] = {}
    retention: RetentionSection = RetentionSection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """How an endpoint came to be configured; nothing of it is secret."""

    found: Literal['file', 'environment']
    url: str
    key: str
    """Where its key is, `env:NAME` or `keyring:SERVICE/USER`; '' where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What the file and the environment say."""

    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Of the endpoints, and of those that are missing."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why an endpoint that is configured cannot be used, for instance: no key."""
    servers: Mapping[str, Server] = field(default_factory=dict)
    """The MCP servers."""
    missing_servers: Mapping[str, str] = field(default_factory=dict)
    prices: Prices = field(default_factory=Prices)
    retention: Retention = field(default_factory=Retention)
    """How long runs are kept."""


def configured(
    path: Path | None, environment: Mapping[str, str], keyring: Callable[[str, str], str | None] | None = None
) -> Configured:
    """Read the configuration.

    A known provider whose key is in the environment needs no entry in the file; `HEMICYCLE_<NAME>_URL` moves
    one elsewhere.

    Args:
        path: the TOML file, which need not be there.
        environment: the environment variables.
        keyring: gives the password of a service and a user; the system's own by default.

    Raises:
        EngineError: the file cannot be read, or has an entry that is wrong; names it.
    """
    file = _read(path)
    secrets = Secrets(environment, keyring or _system_keyring)
    found: dict[str, Endpoint] = {}
    missing: dict[str, str] = {}
    sources: dict[str, Source] = {}
    for name in dict.fromkeys([*file.endpoints, *KNOWN]):
        section = file.endpoints.get(name)
        if section is None and not (KNOWN[name].key and environment.get(KNOWN[name].key)):
            continue
        if section is not None and section.off:
            continue
        sources[name] = _source(name, section, environment)
        try:
            found[name] = _endpoint(name, section or Section(), environment, secrets)
        except _Missing as error:
            missing[name] = str(error)
    servers: dict[str, Server] = {}
    missing_servers: dict[str, str] = {}
    for name, wanted in file.mcp.items():
        try:
            if not wanted.off:
                servers[name] = wanted.server(name, secrets.all)
        except _Missing as error:
            missing_servers[name] = str(error)
    own = {name: Price(**table.model_dump()) for name, table in file.prices.items()}
    return Configured(
        endpoints=found,
        sources=sources,
        missing=missing,
        prices=Prices(own=own),
        servers=servers,
        missing_servers=missing_servers,
        retention=file.retention.policy(),
    )


class _Missing(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Secrets:
    """Finds keys where a configuration says that they are."""

    environment: Mapping[str, str]
    keyring: Callable[[str, str], str | None]

    def find(self, where: str) -> str:
        """The secret at `env:NAME` or `keyring:SERVICE/USER`. Raises `_Missing`."""
        kind, _, rest = where.partition(':')
        if kind == 'env':
            if secret := self.environment.get(rest, '').strip():
                return secret
            raise _Missing(f'the environment variable {rest} is not set')
        service, _, user = rest.partition('/')
        if secret := (self.keyring(service, user) or '').strip():
            return secret
        raise _Missing(f'the keyring has no password of {user!r} for {service!r}')

    def all(self, values: Mapping[str, str]) -> dict[str, str]:
        """The values, with those that say where a secret is replaced by it. Raises `_Missing`."""
        return {
            name: self.find(value) if value.startswith(('env:', 'keyring:')) else value
            for name, value in values.items()
        }


def _source(name: str, section: Section | None, environment: Mapping[str, str]) -> Source:
    given = section or Section()
    known = KNOWN.get(given.provider or name)
    url = environment.get(_url_variable(name)) or given.url or (known.endpoint.url if known else '')
    return Source(found='file' if section else 'environment', url=url, key=_key_of(name, given))


def _key_of(name: str, section: Section) -> str:
    """Where the key of an endpoint is."""
    known = KNOWN.get(section.provider or name)
    return section.key or (f'env:{known.key}' if known and known.key else '')


def _url_variable(name: str) -> str:
    return f'HEMICYCLE_{name.upper().replace("-", "_")}_URL'


def _endpoint(name: str, section: Section, environment: Mapping[str, str], secrets: Secrets) -> Endpoint:
    known = KNOWN.get(section.provider or name)
    base = replace(known.endpoint, name=name) if known else Endpoint(name=name, url='')
    ways = section.model_dump(
        exclude={'provider', 'key', 'headers', 'query', 'models', 'off'},
        exclude_none=True,
        exclude_defaults=True,
    )
    where = _key_of(name, section)
    headers, query = secrets.all(section.headers), secrets.all(section.query)
    made = replace(
        base,
        **ways,
        headers=headers,
        query=query,
        secrets=(
            *(value for name, value in query.items() if value != section.query[name]),
            *(value.rpartition(' ')[2] for name, value in headers.items() if value != section.headers[name]),
        ),
        models=tuple(section.models),
        key=secrets.find(where) if where else '',
    )
    variable = _url_variable(name)
    return replace(made, url=environment[variable]) if environment.get(variable) else made


def _read(path: Path | None) -> File:
    if path is None or not path.exists():
        return File()
    try:
        file = File.model_validate(tomllib.loads(path.read_text('utf-8')))
    except (OSError, ValueError) as error:
        if not isinstance(error, ValidationError):
            raise EngineError(f'{path}: {error}') from None
        first = error.errors()[0]
        raise EngineError(f'{path}: {".".join(map(str, first["loc"]))}: {first["msg"]}') from None
    for name, section in file.endpoints.items():
        if problem := _wrong(name, section):
            raise EngineError(f'{path}: endpoints.{name}: {problem}')
    for name, server in file.mcp.items():
        if problem := server.wrong() if re.match(NAME, name) and len(name) <= LONGEST else NAMED:
            raise EngineError(f'{path}: mcp.{name}: {problem}')
    return file


def _wrong(name: str, section: Section) -> str:
    if not re.match(NAME, name):
        return NAMED
    if section.provider and section.provider not in KNOWN:
        return f'provider: there is no {section.provider!r}; there are: {", ".join(KNOWN)}'
    if not section.url and (section.provider or name) not in KNOWN:
        return 'url: it needs one, for this provider is not known'
    if section.key and not re.match(r'^(env:\w+|keyring:[^/]+/.+)$', section.key):
        # Whoever wrote the key itself here should not find it in an error, and so in a log.
        return 'key: say where it is, "env:NAME" or "keyring:SERVICE/USER"; never the key itself'
    return ''


def _system_keyring(service: str, user: str) -> str | None:
    try:
        import keyring
    except ImportError:
        raise _Missing('the package keyring is not installed') from None
    try:
        found: str | None = keyring.get_password(service, user)
    except Exception as error:  # Each system has a keyring of its own, and errors of its own.
        raise _Missing(f'the keyring cannot be read: {type(error).__name__}') from None
    return found

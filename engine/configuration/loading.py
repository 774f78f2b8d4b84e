"""Reads the configuration: a TOML file, environment variables, and the keys that they refer to."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from engine.configuration.secrets import REFERENCE, REFERENCE_FORMS, MissingSecret, Secrets, read_keyring
from engine.errors import EngineError
from engine.journal.retention_policy import Retention
from engine.models.endpoint import (
    Bounds,
    CacheMode,
    DialectName,
    Endpoint,
    ImageMode,
    ReasoningMode,
    StructureMode,
)
from engine.models.http.endpoint_settings import EndpointSettings, EndpointSource
from engine.models.http.known_providers import KNOWN_PROVIDERS
from engine.models.http.prices import Price, Prices
from engine.records.effort import EFFORT_SYNTAX, is_effort
from engine.tools.acp.known_agents import AgentSection, ExternalAgent
from engine.tools.mcp.config import McpSection, McpServer

NAME, MAX_NAME = r'^[a-z0-9][a-z0-9_-]*$', 32
NAME_RULE = f"a name may contain only lowercase letters, digits, - and _; an MCP server's {MAX_NAME} at most"


UNITS = {'': 1, 'b': 1, 'kb': 10**3, 'mb': 10**6, 'gb': 10**9, 'tb': 10**12}


def parse_size(value: Any) -> Any:
    """Parse a string such as `20 GB` to bytes; other values are returned unchanged. Raises `ValueError`."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r'\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*', value.lower())
    if match is None or match[2] not in UNITS:
        raise ValueError(f'{value!r} is not a size: write bytes, or a number with kB, MB, GB or TB')
    return round(float(match[1]) * UNITS[match[2]])


def _valid_effort(value: str | None) -> str | None:
    if value and not is_effort(value):
        raise ValueError(EFFORT_SYNTAX)
    return value


class _Table(BaseModel):
    model_config = ConfigDict(extra='forbid')


class EndpointSection(_Table):
    """`[endpoints.<name>]`; the defaults come from the known provider or the dialect."""

    provider: str = ''
    """The known provider that it resembles; by default its own name."""
    url: str | None = Field(None, pattern=r'^https?://')
    """Everything before /chat/completions; by default the provider's. Without a provider, any server that
    speaks the OpenAI chat completions protocol."""
    dialect: DialectName | None = None
    store: bool | None = None
    images: ImageMode | None = None
    key: str = ''
    """Where its key is kept: `env:NAME`, `keyring:SERVICE/USER` or `file:NAME`, never the key itself."""
    key_header: str | None = None
    ca: str | None = None
    """A file of certificates to trust; like the next two, relative to the configuration's folder."""
    certificate: str | None = None
    certificate_key: str | None = None
    certificate_password: str = ''
    """Where to find it, as for `key`."""
    headers: dict[str, str] = {}
    """Values may also say where they are kept, as for `key`."""
    query: dict[str, str] = {}
    """Values as in `headers`."""
    body: dict[str, Any] = {}
    structure: StructureMode | None = None
    bounds: Bounds | None = None
    strict_tools: bool | None = None
    reasoning: ReasoningMode | None = None
    effort: Annotated[str | None, AfterValidator(_valid_effort)] = None
    cache: CacheMode | None = None
    at_once: int | None = Field(None, ge=1)
    requests_per_minute: int | None = Field(None, ge=1)
    tokens_per_minute: int | None = Field(None, ge=1)
    attempts: int | None = Field(None, ge=1)
    patience: float | None = Field(None, ge=0)
    first_seconds: float | None = Field(None, gt=0)
    idle_seconds: float | None = Field(None, gt=0)
    total_seconds: float | None = Field(None, gt=0)
    down_seconds: float | None = Field(None, ge=0)
    most_tokens: int | None = Field(None, ge=1)
    limit_field: str | None = None
    usage_option: bool | None = None
    short_ids: bool | None = None
    models: list[str] = []
    """A model to offer; by default all that it lists."""
    off: bool = False


class PriceTable(_Table):
    """`[prices."<endpoint>/<model>"]`: dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)
    written: float | None = Field(None, ge=0)
    written_hour: float | None = Field(None, ge=0)


class RetentionSection(_Table):
    """`[retention]`: how long runs are kept; without a limit, nothing is deleted."""

    days: float | None = Field(None, gt=0)
    runs: int | None = Field(None, ge=1)
    size: Annotated[Annotated[int, Field(ge=0)] | None, BeforeValidator(parse_size)] = None
    trash_days: float = Field(7.0, ge=0)

    def policy(self) -> Retention:
        """Return what the table says, as a record of the engine."""
        return Retention(days=self.days, runs=self.runs, size=self.size, trash_days=self.trash_days)


class ConfigFile(_Table):
    """The configuration file, by table."""

    endpoints: dict[str, EndpointSection] = {}
    prices: dict[str, PriceTable] = {}
    mcp: dict[str, McpSection] = {}
    agents: dict[str, AgentSection] = {}
    retention: RetentionSection = RetentionSection()


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration(EndpointSettings):
    """The combined configuration of file and environment."""

    servers: Mapping[str, McpServer] = field(default_factory=dict)
    """The MCP servers."""
    missing_servers: Mapping[str, str] = field(default_factory=dict)
    agents: Mapping[str, ExternalAgent] = field(default_factory=dict)
    """The external agents of the file; known ones need no entry."""
    missing_agents: Mapping[str, str] = field(default_factory=dict)
    agents_off: frozenset[str] = frozenset()
    retention: Retention = field(default_factory=Retention)
    """How long runs are kept."""


def load_configuration(
    path: Path | None, environment: Mapping[str, str], keyring: Callable[[str, str], str | None] | None = None
) -> Configuration:
    """Read the configuration.

    A known provider whose key is in the environment needs no entry in the file; `HEMICYCLE_<NAME>_URL`
    overrides its address.

    Args:
        path: the TOML file, which need not exist.
        environment: the environment variables.
        keyring: returns the password for a service and a user; the system's keyring by default.

    Raises:
        EngineError: the file cannot be read or has an invalid entry, which the error names.
    """
    file = _load_file(path)
    secrets = Secrets(environment, keyring or read_keyring)
    endpoints: dict[str, Endpoint] = {}
    missing: dict[str, str] = {}
    sources: dict[str, EndpointSource] = {}
    for name in dict.fromkeys([*file.endpoints, *KNOWN_PROVIDERS]):
        section = file.endpoints.get(name)
        if section is None and not (KNOWN_PROVIDERS[name].key and environment.get(KNOWN_PROVIDERS[name].key)):
            continue
        if section is not None and section.off:
            continue
        sources[name] = _source(name, section, environment)
        try:
            endpoints[name] = _endpoint(name, section or EndpointSection(), environment, secrets)
            if path is not None:
                endpoints[name] = _with_files(endpoints[name], path.parent)
        except MissingSecret as error:
            missing[name] = str(error)
    servers: dict[str, McpServer] = {}
    missing_servers: dict[str, str] = {}
    for name, mcp_section in file.mcp.items():
        try:
            if not mcp_section.off:
                servers[name] = mcp_section.server(name, secrets.resolve_all, path.parent if path else Path())
        except MissingSecret as error:
            missing_servers[name] = str(error)
    agents, missing_agents = _agents(file, secrets)
    own = {name: Price(**table.model_dump()) for name, table in file.prices.items()}
    return Configuration(
        endpoints=endpoints,
        sources=sources,
        missing=missing,
        prices=Prices(own=own),
        servers=servers,
        missing_servers=missing_servers,
        agents=agents,
        missing_agents=missing_agents,
        agents_off=frozenset(name for name, section in file.agents.items() if section.off),
        retention=file.retention.policy(),
    )


def _agents(file: ConfigFile, secrets: Secrets) -> tuple[dict[str, ExternalAgent], dict[str, str]]:
    """Return the external agents of the file, and why some of them are unusable."""
    agents: dict[str, ExternalAgent] = {}
    missing: dict[str, str] = {}
    for name, section in file.agents.items():
        try:
            if not section.off:
                agents[name] = section.agent(name, secrets.resolve_all)
        except MissingSecret as error:
            missing[name] = str(error)
    return agents, missing


def _source(name: str, section: EndpointSection | None, environment: Mapping[str, str]) -> EndpointSource:
    settings = section or EndpointSection()
    provider = KNOWN_PROVIDERS.get(settings.provider or name)
    url = _url_in(environment, name) or settings.url or (provider.endpoint.url if provider else '')
    return EndpointSource(found='file' if section else 'environment', url=url, key=_key_of(name, settings))


def _key_of(name: str, section: EndpointSection) -> str:
    """Return where the key of an endpoint is stored; '' if it has none."""
    provider = KNOWN_PROVIDERS.get(section.provider or name)
    return section.key or (f'env:{provider.key}' if provider and provider.key else '')


def _url_in(environment: Mapping[str, str], name: str) -> str:
    """Return the address that the environment gives an endpoint, or ''."""
    return environment.get(f'HEMICYCLE_{name.upper().replace("-", "_")}_URL', '').strip()


def _endpoint(
    name: str, section: EndpointSection, environment: Mapping[str, str], secrets: Secrets
) -> Endpoint:
    provider = KNOWN_PROVIDERS.get(section.provider or name)
    base = replace(provider.endpoint, name=name) if provider else Endpoint(name=name, url='')
    options = section.model_dump(
        exclude={'provider', 'key', 'headers', 'query', 'models', 'off', 'certificate_password'},
        exclude_none=True,
        exclude_defaults=True,
    )
    key_reference = _key_of(name, section)
    headers, query = secrets.resolve_all(section.headers), secrets.resolve_all(section.query)
    endpoint = replace(
        base,
        **options,
        headers=headers,
        query=query,
        secrets=(
            *(value for name, value in query.items() if value != section.query[name]),
            *(value.rpartition(' ')[2] for name, value in headers.items() if value != section.headers[name]),
        ),
        models=tuple(section.models),
        key=secrets.resolve(key_reference) if key_reference else '',
        certificate_password=secrets.resolve(password_reference)
        if (password_reference := section.certificate_password)
        else '',
    )
    url = _url_in(environment, name)
    endpoint = replace(endpoint, url=url) if url else endpoint
    if (
        endpoint.dialect == 'gemini'
        and section.dialect is None
        and endpoint.url.rstrip('/').endswith('/openai')
    ):
        return replace(endpoint, dialect='openai', reasoning='google')  # Google's OpenAI-compatible API.
    return endpoint


def _with_files(endpoint: Endpoint, folder: Path) -> Endpoint:
    """Return the endpoint with its file names resolved relative to the configuration's folder."""

    def at(file: str) -> str:
        return str(folder / Path(file).expanduser()) if file else ''

    return replace(
        endpoint,
        ca=at(endpoint.ca),
        certificate=at(endpoint.certificate),
        certificate_key=at(endpoint.certificate_key),
    )


def _load_file(path: Path | None) -> ConfigFile:
    if path is None or not path.exists():
        return ConfigFile()
    try:
        return check_configuration(path, path.read_text('utf-8-sig'))
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(f'{path}: {error}') from None


def check_configuration(path: Path, text: str) -> ConfigFile:
    """Parse the text of a configuration file. Raises `EngineError`, which names `path` and the entry."""
    try:
        file = ConfigFile.model_validate(tomllib.loads(text))
    except ValueError as error:
        if not isinstance(error, ValidationError):
            raise EngineError(f'{path}: {error}') from None
        first = error.errors()[0]
        raise EngineError(f'{path}: {".".join(map(str, first["loc"]))}: {first["msg"]}') from None
    for name, section in file.endpoints.items():
        if problem := _section_problem(name, section):
            raise EngineError(f'{path}: endpoints.{name}: {problem}')
    for name, server in file.mcp.items():
        if problem := server.find_problem() if re.match(NAME, name) and len(name) <= MAX_NAME else NAME_RULE:
            raise EngineError(f'{path}: mcp.{name}: {problem}')
    for name, agent in file.agents.items():
        if problem := agent.find_problem(name) if re.match(NAME, name) else NAME_RULE:
            raise EngineError(f'{path}: agents.{name}: {problem}')
    return file


def _section_problem(name: str, section: EndpointSection) -> str:
    if not re.match(NAME, name):
        return NAME_RULE
    if section.provider and section.provider not in KNOWN_PROVIDERS:
        return f'provider: there is no {section.provider!r}; available: {", ".join(KNOWN_PROVIDERS)}'
    if not section.url and (section.provider or name) not in KNOWN_PROVIDERS:
        return 'url: required, since this provider is not known'
    for setting, what in (('key', 'key'), ('certificate_password', 'password')):
        place = getattr(section, setting)
        if place and not re.fullmatch(REFERENCE, place):
            # The value may be the key itself, which must not appear in an error and thus in a log.
            forms = f'say where the {what} is kept, as {REFERENCE_FORMS}'
            return f'{setting}: {forms}; never write the {what} itself'
    if section.certificate_key and not section.certificate:
        return 'certificate_key: requires a certificate'
    return ''

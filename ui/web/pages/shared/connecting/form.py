"""The form of a connection: a key, and what else may differ from the provider's usual."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from engine.configuration import REFERENCE, has_keyring, keys_file
from engine.models import KNOWN_PROVIDERS
from ui.formatting.values import as_sentence
from ui.web.pages.shared.section_dialog import Address, Name

ADDRESS = 'everything before /chat/completions, /responses, /messages or /models'
OTHER = 'other'
OTHER_TITLE = 'Other server'
ADVANCED = 'Advanced'


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What a person has filled in."""

    name: str
    values: Mapping[str, Any]
    """Entries of its section."""
    secret: str = ''
    """The key itself, if one was pasted."""


def title_of(provider: str) -> str:
    """Return the name of a provider as people know it."""
    return KNOWN_PROVIDERS[provider].title if provider in KNOWN_PROVIDERS else OTHER_TITLE


def provider_of(name: str, section: Mapping[str, Any]) -> str:
    """Return the known provider of a section, or `OTHER`."""
    provider = str(section.get('provider') or name)
    return provider if provider in KNOWN_PROVIDERS else OTHER


def key_place() -> str:
    """Return a sentence on where a pasted key is kept. Blocks."""
    if has_keyring():
        return 'Kept in this system’s keyring'
    return f'Kept in {keys_file()}, which only its owner can read; it is not encrypted'


def form_model(provider: str, *, place: str, present: Mapping[str, Any] | None = None) -> type[BaseModel]:
    """Return the model of the form; what the provider needs is in sight, all else under Advanced.

    Args:
        provider: a known one, or `OTHER`.
        place: where a pasted key is kept, in a sentence.
        present: the section that is edited; None for a new one, which is also named.
    """
    known = KNOWN_PROVIDERS.get(provider)
    in_sight = {'name', 'url', 'key'} if known is None else {'key'} if known.key else {'url'}
    is_new = present is None
    reference = (present or {}).get('key', '')
    present_one = reference if reference.startswith('env:') else 'the present one'
    now = f' Leave empty to keep {present_one}.' if reference else ''

    def field(name: str, title: str, help: str, default: Any = '', **extra: Any) -> Any:
        group = {} if name in in_sight else {'group': ADVANCED}
        return Field(default, title=title, description=help, json_schema_extra={**extra, **group})

    usual = f'Leave empty for {known.endpoint.url}.' if known else ''
    models = 'Leave empty to offer all that it lists.'
    named = f'Models are called name/model.{f" By default {provider}." if known else ""}'
    fields: dict[str, Any] = {
        'key': (str, field('key', 'API key', f'{place}.{now}', format='password')),
        'url': (Address, field('url', 'Address', f'{as_sentence(ADDRESS)} {usual}')),
        'models': (list[str], field('models', 'Models', models, [], inline=True)),
    }
    if is_new:
        fields = {'name': (Name, field('name', 'Name', named, maxLength=32)), **fields}
    return create_model('Connection', __config__=ConfigDict(str_strip_whitespace=True), **fields)


def problems_of(provider: str, filled: Any, *, is_new: bool) -> dict[str, str]:
    """Return what is missing, by field."""
    known = KNOWN_PROVIDERS.get(provider)
    needed = {} if known else {'url': 'Enter the address'}
    if is_new:
        needed |= {'name': 'Enter a name'} if known is None else {'key': 'Paste the key'} if known.key else {}
    return {name: problem for name, problem in needed.items() if not getattr(filled, name)}


def read_form(provider: str, filled: Any, name: str) -> Connection:
    """Return the connection; `name` is that of the section that is edited, or ''.

    In place of a key, where it is kept may be entered.
    """
    chosen = '' if provider == OTHER else provider
    name = name or filled.name or chosen
    is_reference = bool(re.fullmatch(REFERENCE, filled.key))
    return Connection(
        name=name,
        values={
            'provider': '' if chosen == name else chosen,
            'url': filled.url,
            'models': filled.models,
            **({'key': filled.key} if is_reference else {}),
        },
        secret='' if is_reference else filled.key,
    )

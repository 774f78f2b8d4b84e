"""Connecting a model: the dialog for endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, create_model, field_validator
from typing_extensions import override

from engine.models import PROVIDERS
from engine.operations import Endpoints
from ui.formatting.values import EMPTY, as_sentence, count
from ui.web.pages.shared.section_dialog import Address, Name, SectionDialog, must_match

ADDRESS = 'everything before /chat/completions, /responses, /messages or /models'
OTHER = 'other'
TITLES: Any = {
    'openai': 'OpenAI',
    'openrouter': 'OpenRouter',
    'mistral': 'Mistral AI',
    'deepseek': 'DeepSeek',
    'lmstudio': 'LM Studio',
    'vllm': 'vLLM',
    'llamacpp': 'llama.cpp',
}
"""Names of providers that cannot be derived by capitalization."""
KEY_HELP = (
    'A reference, never the key itself: env:NAME for an environment variable, or '
    'keyring:SERVICE/USER. Leave empty for the provider’s default.'
)

Reference = Annotated[
    str,
    must_match(r'env:\w+|keyring:[^/]+/.+', 'Enter env:NAME or keyring:SERVICE/USER, not the key itself.'),
]


class ConnectDialog(SectionDialog):
    """Adds an endpoint or edits one."""

    TITLE = 'Connect a model'

    @override
    def sections(self) -> Endpoints:
        return self._backend().endpoints

    def model(self) -> type[BaseModel]:
        """Return the form's model, built here because it lists the known providers."""
        names: Any = Literal[(*PROVIDERS, OTHER)]
        other = 'Choose “Other” for any server that speaks the OpenAI chat completions protocol.'
        called = 'Models are listed as name/model. Leave empty to use the provider’s name.'
        address = f'{as_sentence(ADDRESS)} Leave empty for the provider’s default.'
        offered = 'Leave empty to offer all models that it lists.'
        return create_model(
            'Connection',
            __config__=ConfigDict(str_strip_whitespace=True),
            __validators__={'need': field_validator('name', 'url')(_require_for_other)},
            provider=(
                names,
                Field(
                    next(iter(PROVIDERS)),
                    title='Provider',
                    description=other,
                    json_schema_extra={'labels': TITLES},
                ),
            ),
            key=(Reference, Field('', title='Key', description=KEY_HELP)),
            name=(Name, Field('', title='Name', description=called, max_length=32)),
            url=(Address, Field('', title='Address', description=address)),
            models=(
                list[str],
                Field([], title='Models', description=offered, json_schema_extra={'inline': True}),
            ),
        )

    @override
    def fill(self, name: str, section: Mapping[str, Any]) -> Mapping[str, Any]:
        provider = str(section.get('provider') or name)
        return {
            'provider': provider if provider in PROVIDERS else OTHER,
            'name': name,
            **{key: section[key] for key in ('url', 'key', 'models') if key in section},
        }

    @override
    def values(self, form_values: Any, section: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        chosen = '' if form_values.provider == OTHER else form_values.provider
        name = form_values.name or chosen
        return name, {
            'provider': '' if chosen == name else chosen,
            'url': form_values.url,
            'key': form_values.key,
            'models': form_values.models,
        }

    @override
    async def test(self, name: str) -> tuple[str, str]:
        health = await self._backend().endpoints.test(name)
        return health.problem, f'{name} answers and offers {count(len(health.models), "model")}.'


def _require_for_other(text: str, info: ValidationInfo) -> str:
    """Require name and address for an unknown provider, which has no defaults."""
    if info.data.get('provider') == OTHER and not text:
        raise ValueError(EMPTY)
    return text

"""Known providers: addresses, key environment variables and quirks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.models.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownProvider:
    """A provider that works without configuration."""

    endpoint: Endpoint
    title: str
    key: str = ''
    """Environment variable of its key; a provider without one is a local server."""
    keys_page: str = ''
    """Where people get a key."""


def _provider(
    title: str, name: str, url: str, key: str = '', keys_page: str = '', **settings: Any
) -> KnownProvider:
    endpoint = Endpoint(name=name, url=url, **settings)
    return KnownProvider(endpoint=endpoint, title=title, key=key, keys_page=keys_page)


KNOWN_PROVIDERS = {
    provider.endpoint.name: provider
    for provider in (
        _provider(
            'OpenAI',
            'openai',
            'https://api.openai.com/v1',
            'OPENAI_API_KEY',
            'https://platform.openai.com/api-keys',
            strict_tools=True,
            bounds='numbers',
            limit_field='max_completion_tokens',
            small_models=('gpt-5-mini', 'gpt-4.1-mini', 'gpt-4o-mini'),
        ),
        _provider(
            'Anthropic',
            'anthropic',
            'https://api.anthropic.com/v1',
            'ANTHROPIC_API_KEY',
            'https://console.anthropic.com/settings/keys',
            dialect='anthropic',
            structure='by model',
            cache='5m',
            small_models=('claude-haiku', 'claude-3-5-haiku'),
        ),
        _provider(
            'Google',
            'gemini',
            'https://generativelanguage.googleapis.com/v1beta',
            'GEMINI_API_KEY',
            'https://aistudio.google.com/apikey',
            dialect='gemini',
            structure='schema alone',
            bounds='numbers',
            small_models=('gemini-flash-latest', 'gemini-2.5-flash'),
        ),
        _provider(
            'OpenRouter',
            'openrouter',
            'https://openrouter.ai/api/v1',
            'OPENROUTER_API_KEY',
            'https://openrouter.ai/settings/keys',
            structure='tool',
            reasoning='object',
            cache='5m',
            small_models=('openai/gpt-5-mini', 'openai/gpt-4o-mini'),
        ),
        _provider(
            'Groq',
            'groq',
            'https://api.groq.com/openai/v1',
            'GROQ_API_KEY',
            'https://console.groq.com/keys',
            structure='tool',
            limit_field='max_completion_tokens',
            small_models=('llama-3.1-8b-instant', 'openai/gpt-oss'),
        ),
        _provider(
            'Mistral',
            'mistral',
            'https://api.mistral.ai/v1',
            'MISTRAL_API_KEY',
            'https://console.mistral.ai/api-keys',
            short_ids=True,
            usage_option=False,
            small_models=('mistral-small-latest', 'mistral-small'),
        ),
        _provider(
            'DeepSeek',
            'deepseek',
            'https://api.deepseek.com/v1',
            'DEEPSEEK_API_KEY',
            'https://platform.deepseek.com/api_keys',
            structure='text',
            small_models=('deepseek-chat', 'deepseek-flash'),
        ),
        # A local server holds a model or two in memory, and calls queue behind one another.
        _provider(
            'Ollama', 'ollama', 'http://127.0.0.1:11434/v1', structure='schema alone', bounds='all', at_once=2
        ),
        _provider(
            'LM Studio',
            'lmstudio',
            'http://127.0.0.1:1234/v1',
            structure='schema alone',
            bounds='all',
            at_once=2,
        ),
        _provider('vLLM', 'vllm', 'http://127.0.0.1:8000/v1', structure='schema alone', bounds='all'),
        _provider(
            'llama.cpp',
            'llamacpp',
            'http://127.0.0.1:8080/v1',
            structure='schema alone',
            bounds='all',
            at_once=2,
        ),
    )
}

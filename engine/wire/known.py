"""What is known of providers: addresses, the names of their keys, and what is peculiar about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.wire.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A provider as it is found without a word of configuration."""

    endpoint: Endpoint
    key: str = ''
    """The environment variable that holds its key; one without is a server on this machine."""


def _known(name: str, url: str, key: str = '', **ways: Any) -> Known:
    return Known(endpoint=Endpoint(name=name, url=url, **ways), key=key)


KNOWN = {
    made.endpoint.name: made
    for made in (
        _known(
            'openai',
            'https://api.openai.com/v1',
            'OPENAI_API_KEY',
            strict_tools=True,
            limit_field='max_completion_tokens',
        ),
        _known(
            'anthropic',
            'https://api.anthropic.com/v1',
            'ANTHROPIC_API_KEY',
            dialect='anthropic',
            structure='tool',
        ),
        _known('openrouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY', structure='tool'),
        _known(
            'groq',
            'https://api.groq.com/openai/v1',
            'GROQ_API_KEY',
            structure='tool',
            limit_field='max_completion_tokens',
        ),
        _known('mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY', short_ids=True, usage_option=False),
        _known('deepseek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY', structure='text'),
        _known(
            'gemini',
            'https://generativelanguage.googleapis.com/v1beta/openai',
            'GEMINI_API_KEY',
            structure='schema alone',
        ),
        # A server on this machine: it holds a model or two in memory, and calls wait for one another.
        _known('ollama', 'http://127.0.0.1:11434/v1', structure='schema alone', at_once=2),
        _known('lmstudio', 'http://127.0.0.1:1234/v1', structure='schema alone', at_once=2),
        _known('vllm', 'http://127.0.0.1:8000/v1', structure='schema alone'),
        _known('llamacpp', 'http://127.0.0.1:8080/v1', structure='schema alone', at_once=2),
    )
}

"""What a test of an endpoint says: a result, a remedy, and models with their prices."""

from __future__ import annotations

from engine.models import EndpointHealth, ModelRegistry
from engine.records import Usage
from ui.formatting.usage import dollars
from ui.formatting.values import as_sentence, count
from ui.web.pages.shared.connecting.form import ADDRESS

CHECK_ADDRESS = 'Check that it is running and that the address is correct.'
LATER = 'Try again later.'
REMEDIES = {
    'connection': CHECK_ADDRESS,
    'timeout': CHECK_ADDRESS,
    'auth': 'Check that the key is complete, still valid, and allowed to call models.',
    'not found': f'Check the model’s name and the address: it is {ADDRESS}.',
    'bad response': f'Check the address: it is {ADDRESS}.',
    'quota': 'Check the account of this key.',
    'rate limit': LATER,
    'overloaded': LATER,
    'server': LATER,
}
"""By kind of error."""
SAMPLED = 1_000
"""Tokens of which a price is asked: few, since many models cost more beyond a length."""


def describe(health: EndpointHealth) -> tuple[str, str]:
    """Return what a test found in a sentence, and what to do."""
    if health.problem:
        problem = ' '.join(health.problem.removeprefix(f'{health.endpoint}: ').split())
        return as_sentence(problem), REMEDIES.get(health.kind, '')
    offers = f'{count(len(health.models), "model")} offered' if health.models else 'No models listed'
    return (f'Answered by {health.called}. {offers}.' if health.called else f'{offers}; none was called.'), ''


def models_with_prices(registry: ModelRegistry, health: EndpointHealth) -> dict[str, str]:
    """Return labels by `endpoint/model`: the tested one first, those without a price last. Blocks."""
    infos = {info.endpoint: info for info in registry.endpoint_infos()}
    is_local = health.endpoint in infos and infos[health.endpoint].is_local
    unknown = '' if is_local else ': price unknown'
    labels: dict[str, str] = {}
    unpriced: dict[str, str] = {}
    for model in dict.fromkeys([*filter(None, [health.called]), *health.models]):
        name = f'{health.endpoint}/{model}'
        price = _price(registry, name)
        if price or model == health.called:
            labels[name] = f'{model}: {price}' if price else f'{model}{unknown}'
        else:
            unpriced[name] = f'{model}{unknown}'
    return labels | unpriced


def _price(registry: ModelRegistry, name: str) -> str:
    """Return the price in words, or '' if it is unknown."""
    price = getattr(registry.get(name), 'price', None)
    if price is None:
        return ''
    read, written = price(Usage(input=SAMPLED)), price(Usage(output=SAMPLED))
    if read is None or written is None:
        return ''
    scale = 1_000_000 / SAMPLED
    return f'{dollars(read * scale)} in, {dollars(written * scale)} out per million tokens'

"""Reasoning effort in each dialect: what a model accepts, and how to ask for it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from engine.models.endpoint import Endpoint
from engine.records.effort import thinking_tokens

NO_REASONING = re.compile(r'(^|/)(gpt-[34]|chatgpt-|gpt-5-chat|o1-mini|o1-preview)')
"""OpenAI's models that accept no effort."""
OPENAI_LEVELS = (
    (re.compile(r'(^|/)gpt-5-pro'), ('high',)),
    (re.compile(r'(^|/)gpt-5(-|$)'), ('minimal', 'low', 'medium', 'high')),
    (re.compile(r'(^|/)gpt-5\.1-codex-max'), ('low', 'medium', 'high', 'xhigh')),
    (re.compile(r'(^|/)gpt-5\.1-codex'), ('low', 'medium', 'high')),
    (re.compile(r'(^|/)gpt-5\.1'), ('none', 'low', 'medium', 'high')),
    (re.compile(r'(^|/)o[134](-|$)'), ('low', 'medium', 'high')),
)
"""Levels of older models; for other models the provider itself reports a wrong level."""
GOOGLE_LEVELS = ('none', 'minimal', 'low', 'medium', 'high')


def level_problem(effort: str, levels: tuple[str, ...], *, tokens: bool = False) -> str:
    """Return why a model does not accept an effort, or ''.

    Args:
        effort: the requested effort.
        levels: the levels it accepts.
        tokens: whether it also accepts a number of tokens.
    """
    if effort in levels or (tokens and thinking_tokens(effort) is not None):
        return ''
    return f'it accepts {", ".join(levels)}{" or a number of tokens" if tokens else ""}, not {effort!r}'


NO_EFFORT = 'its endpoint accepts no reasoning effort (`reasoning = "off"`)'


def openai_problem(model: str, effort: str, endpoint: Endpoint) -> str:
    """Return why a model behind the OpenAI dialects does not accept an effort, or ''."""
    match endpoint.reasoning:
        case 'off':
            return NO_EFFORT
        case 'object':
            return ''
        case 'google':
            return level_problem(effort, GOOGLE_LEVELS, tokens=True)
    if NO_REASONING.search(model):
        return 'it does not reason, and accepts no effort'
    for name, levels in OPENAI_LEVELS:
        if name.search(model):
            return level_problem(effort, levels)
    return 'it accepts a level, not a number of tokens' if thinking_tokens(effort) is not None else ''


def openai_fields(effort: str, endpoint: Endpoint) -> dict[str, Any]:
    """Return the fields of a chat completion that ask for an effort; none for ''."""
    tokens = thinking_tokens(effort)
    if not effort:
        return {}
    if endpoint.reasoning == 'object':
        return {'reasoning': {'effort': effort} if tokens is None else {'max_tokens': tokens}}
    if tokens is not None:
        config = {'thinking_budget': tokens, 'include_thoughts': True}
        return {'extra_body': {'google': {'thinking_config': config}}}
    return {'reasoning_effort': effort}


def responses_reasoning(effort: str) -> dict[str, Any]:
    """Return the `reasoning` field of a Responses request; empty for ''."""
    tokens = thinking_tokens(effort)
    if not effort:
        return {}
    return {'effort': effort} if tokens is None else {'max_tokens': tokens}


NO_THINKING = re.compile(r'claude-(2|instant|3(?!-7))')
ADAPTIVE = re.compile(r'((opus|sonnet)-4-[6-9]|(opus|sonnet|haiku|fable|mythos)-[5-9]|mythos)(?!\d)')
"""Models that decide themselves when to think, guided by an effort."""
ADAPTIVE_ONLY = re.compile(r'(opus-4-[7-9]|(opus|sonnet|haiku|fable|mythos)-[5-9]|mythos)(?!\d)')
"""Adaptive models that do not accept a number of tokens."""
ALWAYS_THINKS = re.compile(r'fable|mythos|opus-5-5')
LEVEL_WITH_BUDGET = re.compile(r'opus-4-5(?!\d)')
BUDGETS = {'minimal': 1_024, 'low': 2_048, 'medium': 8_192, 'high': 16_384}
"""Thinking tokens by level, for models that accept only a number."""
ROOM = 32_000
"""The reply limit, in tokens, of an adaptive model that thinks: the limit includes its thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """How a request asks for thinking."""

    thinking: dict[str, Any] | None = None
    effort: str = ''
    """`output_config.effort`."""
    budget: int = 0
    """Tokens of thinking, to be added to the reply limit."""
    room: int = 0
    """The reply limit to use if none is configured; 0 means the dialect's own."""

    @property
    def enabled(self) -> bool:
        """Whether the model reasons before it answers."""
        return bool(self.budget or self.room)


def anthropic_problem(model: str, effort: str, endpoint: Endpoint) -> str:
    """Return why a model behind the Anthropic dialect does not accept an effort, or ''."""
    if effort == 'none':
        return 'it always thinks' if ALWAYS_THINKS.search(model) else ''
    if NO_THINKING.search(model):
        return 'it does not think, and accepts no effort'
    if ADAPTIVE.search(model):
        only = ADAPTIVE_ONLY.search(model) is not None
        levels = ('none', 'low', 'medium', 'high', *(['xhigh'] if only else []), 'max')
        return level_problem(effort, levels, tokens=not only)
    if LEVEL_WITH_BUDGET.search(model):
        return level_problem(effort, ('none', 'low', 'medium', 'high'), tokens=True)
    return level_problem(effort, ('none', *BUDGETS), tokens=True)


def anthropic_thinking(model: str, effort: str) -> Thinking:
    """Return how a Messages request asks for an effort that the model accepts; empty for ''."""
    tokens = thinking_tokens(effort)
    if not effort or (effort == 'none' and NO_THINKING.search(model)):
        return Thinking()
    if effort == 'none':
        return Thinking(thinking={'type': 'disabled'})
    if tokens is None and ADAPTIVE.search(model):
        # Without `display`, newer models omit their thinking.
        thinking = {'type': 'adaptive', 'display': 'summarized'}
        return Thinking(thinking=thinking, effort=effort, room=ROOM)
    budget = BUDGETS[effort] if tokens is None else tokens
    return Thinking(
        thinking={'type': 'enabled', 'budget_tokens': budget},
        effort=effort if tokens is None and LEVEL_WITH_BUDGET.search(model) else '',
        budget=budget,
    )


GEMINI_LEVELS = (
    (re.compile(r'gemini-3-pro'), ('low', 'high')),
    (re.compile(r'gemini-3\.1-pro'), ('low', 'medium', 'high')),
    (re.compile(r'gemini-3-flash'), ('minimal', 'low', 'medium', 'high')),
)
"""Levels of these models; for newer ones the provider itself reports a wrong level."""
GEMINI_BY_BUDGET = re.compile(r'gemini-2\.5-(pro|flash)?')
"""Models that accept only a number of tokens."""
GEMINI_PLAIN = re.compile(r'gemini-(1|2\.0)|gemma')
"""Google's models that do not think."""
MAX_BUDGET = {'pro': 32_768}
FLASH_BUDGET = 24_576
"""Maximum number of thinking tokens of other models."""


def google_problem(model: str, effort: str, endpoint: Endpoint) -> str:
    """Return why a model behind Google's own dialect does not accept an effort, or ''."""
    if endpoint.reasoning == 'off':
        return NO_EFFORT
    if GEMINI_PLAIN.search(model):
        return '' if effort == 'none' else 'it does not think, and accepts no effort'
    if match := GEMINI_BY_BUDGET.search(model):
        most, tokens = MAX_BUDGET.get(match[1], FLASH_BUDGET), thinking_tokens(effort)
        if tokens is not None and tokens > most:
            return f'it accepts at most {most:,} tokens, not {tokens:,}'
        off = () if match[1] == 'pro' else ('none',)
        return level_problem(effort, (*off, *BUDGETS), tokens=True)
    for name, levels in GEMINI_LEVELS:
        if name.search(model):
            return level_problem(effort, levels, tokens=True)
    return level_problem(effort, ('minimal', 'low', 'medium', 'high', 'xhigh'), tokens=True)


def google_thinking(model: str, effort: str) -> Thinking:
    """Return how a request in Google's own dialect asks for an effort the model accepts; empty for ''."""
    tokens = thinking_tokens(effort)
    if not effort or (effort == 'none' and GEMINI_PLAIN.search(model)):
        return Thinking()
    if effort == 'none':
        return Thinking(thinking={'thinkingBudget': 0})
    budget = BUDGETS.get(effort, ROOM) if tokens is None else tokens
    if tokens is None and not GEMINI_BY_BUDGET.search(model):
        return Thinking(thinking={'thinkingLevel': effort, 'includeThoughts': True}, budget=budget)
    return Thinking(thinking={'thinkingBudget': budget, 'includeThoughts': True}, budget=budget)

"""What agents do, in the few words of their cards in the diagram."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.records import StatePath, Usage, View, is_within
from ui.formatting.diagram.folding import agent_paths, card_paths
from ui.formatting.steps import clock_end, duration
from ui.formatting.tool_calls import call_line
from ui.formatting.usage import with_streamed
from ui.formatting.values import compact
from ui.web.pages.shared.run.context import RunContext
from ui.web.replay.conversation import json_to_markdown
from ui.web.replay.history import latest

MAX_LIVE = 80
"""Characters of a line: more than a card has room for."""
MAX_STREAMED = 24
"""Characters of streamed text that are shown: no more than a card has room for, since the last ones count."""


class AgentCards:
    """The texts of all cards, at the moment that is shown."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        agents = agent_paths(context.shape)
        self._cards = {
            card: sorted(path for path in agents if is_within(path, card))
            for card in card_paths(context.shape)
        }
        self._streamed: dict[str, str] = {}
        """By agent: the end of the reply that is being streamed."""
        self._counts: dict[str, int] = {}
        """By agent: the characters streamed of that reply."""
        self._leaves: dict[str, str] = {}

    def stream(self, text: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Take streamed text, by agent."""
        for path, pieces in text.items():
            piece = ''.join(piece for _, piece in pieces)
            self._streamed[path] = (self._streamed.get(path, '') + piece)[-MAX_LIVE:]
            self._counts[path] = self._counts.get(path, 0) + len(piece)

    def texts(self, view: View, now: float, *, live: bool) -> dict[str, dict[str, str]]:
        """Return the texts of each card: `state`, `spent`, `live`."""
        return {card: self._text(card, agents, view, now, live=live) for card, agents in self._cards.items()}

    def _text(
        self, card: str, agents: Sequence[str], view: View, now: float, *, live: bool
    ) -> dict[str, str]:
        leaf = next((leaf for leaf in view.active if is_within(leaf, card)), '')
        if not live or self._leaves.get(card) != leaf:  # a reply ends with its state
            for path in agents:
                self._streamed.pop(path, None)
                self._counts.pop(path, None)
        self._leaves[card] = leaf
        stay = latest(self._context.history.stays, card, view.seq)
        if not leaf and stay is None:
            return {'state': 'not started', 'spent': '', 'live': ''}
        words, problem, streamed = '', '', 0
        spent = Usage()
        for path in agents:
            state: Mapping[str, Any] = view.agents.get(path) or {}
            problem = problem or str(state.get('problem') or '')
            words = _end_of(self._streamed.get(path, '')) or last_words(state) or words
            streamed += self._counts.get(path, 0)
            if path in view.spending:
                spent += view.spending[path].total
        facts = [compact(tokens) for tokens in [with_streamed(spent, streamed).total] if tokens]
        if leaf:
            since = view.entered.get(StatePath(card))
            facts += [duration(clock_end(view, now) - since[1])] if since else []
        elif stay is not None:
            facts.append(duration(stay.until - stay.since))
        name = leaf.rpartition('.')[2].replace('_', ' ') if leaf != card else 'at work'
        ended = 'failed' if problem else 'done'
        return {
            'state': name if leaf else ended,
            'spent': ' · '.join(facts),
            'live': ' '.join(((problem if not leaf else '') or words).split()),
        }


def _end_of(text: str) -> str:
    """Return the last whole words of a text that is being streamed, in one line."""
    line = ' '.join(text.split())
    if len(line) <= MAX_STREAMED:
        return line
    return f'… {line[-MAX_STREAMED:].partition(" ")[2] or line[-MAX_STREAMED:]}'


def last_words(agent: Mapping[str, Any]) -> str:
    """Return the last thing that an agent said or called, in one line; '' if nothing."""
    for message in reversed(agent.get('messages', ())):
        if message['role'] != 'assistant':
            continue
        for part in reversed(message['parts']):
            if part['kind'] == 'call':
                return f'{part["name"]}: {call_line(str(part["arguments"]), MAX_LIVE)}'
            if part['kind'] == 'text' and part['text'].strip():
                lines = json_to_markdown(part['text']).splitlines()
                plain = (line.strip('#>*-_ ') for line in lines)
                return next(filter(None, plain), '')[:MAX_LIVE].replace('**', '')
    return ''

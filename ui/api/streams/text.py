"""StreamedText: finds the part of a journaled reply that was not streamed before."""

from __future__ import annotations

from collections import defaultdict

from engine.records import Delta, Message, StatePath


class StreamedText:
    """The text streamed to a client for replies that are not journaled yet.

    Streaming is best effort: the end of a reply may arrive only with its step.
    """

    def __init__(self) -> None:
        self._pieces: defaultdict[tuple[StatePath, str], list[str]] = defaultdict(list)

    def add(self, delta: Delta) -> None:
        """Add streamed text; a reset discards it, for one agent or, at '', for all."""
        if delta.kind == 'reset':
            self.forget(delta.path)
        elif delta.kind in ('text', 'reasoning'):
            self._pieces[delta.path, delta.kind].append(delta.text)

    def forget(self, agent: StatePath) -> None:
        """Discard the streamed text of an agent or, at '', of all."""
        for key in [key for key in self._pieces if agent in ('', key[0])]:
            del self._pieces[key]

    def find_unstreamed(self, agent: StatePath, message: Message) -> tuple[str, str]:
        """Return the reasoning and the text of a journaled reply that were not streamed.

        Each is empty if the reply does not begin with what was streamed: it was shown in other words.
        """
        reasoning = ''.join(part.text for part in message.parts if part.kind == 'reasoning')
        return self._find_unstreamed_part(agent, 'reasoning', reasoning), self._find_unstreamed_part(
            agent, 'text', message.text
        )

    def _find_unstreamed_part(self, agent: StatePath, kind: str, whole: str) -> str:
        streamed = ''.join(self._pieces.get((agent, kind), ()))
        return whole[len(streamed) :] if whole.startswith(streamed) else ''

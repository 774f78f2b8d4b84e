"""What is left to show of an agent's reply, of which a part was streamed, once it is journaled."""

from __future__ import annotations

from collections import defaultdict

from engine.records import Delta, Message, StatePath


class StreamedText:
    """What a client was streamed of replies that are not journaled yet.

    Streaming is best effort: what an agent says last may come with the step alone.
    """

    def __init__(self) -> None:
        self._pieces: defaultdict[tuple[StatePath, str], list[str]] = defaultdict(list)

    def add(self, delta: Delta) -> None:
        """Take what was streamed; a reset forgets what came before it, for one agent or, at '', for all."""
        if delta.kind == 'reset':
            self.forget(delta.path)
        elif delta.kind in ('text', 'reasoning'):
            self._pieces[delta.path, delta.kind].append(delta.text)

    def forget(self, agent: StatePath) -> None:
        """Forget what was streamed of an agent, or, at '', of all."""
        for key in [key for key in self._pieces if agent in ('', key[0])]:
            del self._pieces[key]

    def rest(self, agent: StatePath, message: Message) -> tuple[str, str]:
        """The reasoning and the text of a journaled reply that were not streamed.

        Nothing of a kind whose streamed text is not how the reply begins: it was shown in other words.
        """
        reasoning = ''.join(part.text for part in message.parts if part.kind == 'reasoning')
        return self._rest(agent, 'reasoning', reasoning), self._rest(agent, 'text', message.text)

    def _rest(self, agent: StatePath, kind: str, whole: str) -> str:
        streamed = ''.join(self._pieces.get((agent, kind), ()))
        return whole[len(streamed) :] if whole.startswith(streamed) else ''

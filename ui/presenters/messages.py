"""The messages of a run as people read them, and which of them are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from ui.presenters.reading import short, span
from ui.replay.grown import At

HEAD = 220
"""Characters of a message that its line may show; the rest is read when it is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message; `number` is its place, from 1 on."""

    number: int
    sender: str
    recipient: str
    type: str
    content: str
    seq: int = 0
    """The step that added it; 0 as long as that is not known."""
    time: float = 0.0
    about: str = ''
    """The step of the plan that it is about."""

    def row(self, started: float) -> list[Any]:
        """What the list in the browser knows of it."""
        clock = span(self.time - started) if self.time and started else ''
        return [
            self.number,
            self.seq,
            clock,
            self.sender,
            self.recipient,
            self.type,
            short(self.content, HEAD),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which messages are shown; '' is any."""

    sender: str = ''
    recipient: str = ''
    type: str = ''
    text: str = ''

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Wanted:
        """From an address."""
        return cls(**{name: str(given.get(name, ''))[:200] for name in cls.__slots__})

    @property
    def query(self) -> dict[str, str]:
        """What stands in the address."""
        return {name: value for name, value in asdict(self).items() if value}

    def takes(self, said: Said) -> bool:
        """Whether a message is shown."""
        exact = all(
            wanted in ('', getattr(said, name))
            for name, wanted in (('sender', self.sender), ('recipient', self.recipient), ('type', self.type))
        )
        return exact and (not self.text or self.text.strip().casefold() in said.content.casefold())


def messages_of(value: Any, steps: Sequence[At] = ()) -> list[Said]:
    """The messages in a field of memory, whatever a pattern has put there.

    Args:
        value: that field, as a view has it.
        steps: where each of them is from (`ui.replay.grown`), as far as the history has been read.
    """
    found = []
    for number, item in enumerate(value if isinstance(value, list) else (), start=1):
        if isinstance(item, Mapping):
            at = steps[number - 1] if number <= len(steps) else At(0, 0.0)
            time = item.get('time')
            found.append(
                Said(
                    number=number,
                    sender=str(item.get('sender', '')),
                    recipient=str(item.get('recipient', '')),
                    type=str(item.get('type', item.get('kind', ''))),
                    content=str(item.get('content', '')),
                    seq=at.seq,
                    time=float(time) if isinstance(time, int | float) and time else at.time,
                    about=str(item.get('step', '')),
                )
            )
    return found


def parties(said: Iterable[Said]) -> list[str]:
    """Everybody who sends or receives, in the order in which they first do."""
    return list(dict.fromkeys(name for one in said for name in (one.sender, one.recipient) if name))


def address(path: str, **query: Any) -> str:
    """A page with what is asked of it; what is '' or None is left out."""
    given = {name: value for name, value in query.items() if value not in ('', None)}
    return f'{path}?{urlencode(given)}' if given else path

"""Questions of waiting runs, as forms that a client can show."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mcp_types import ElicitResult

from engine import Conductor, EventRefused
from engine.errors import StepPassed
from engine.records import RunId, RunInfo

ANSWERS = frozenset({'approve', 'deny'})
"""Events whose data is optional."""


@dataclass(frozen=True, slots=True)
class Question:
    """A choice between events that a run accepts at a step."""

    run: RunId
    seq: int
    message: str
    choices: Mapping[str, tuple[str, str]]
    """By answer: the event and the state it is for."""

    @property
    def key(self) -> str:
        """Its name, unique within the run."""
        return f'step-{self.seq}'

    @property
    def schema(self) -> dict[str, Any]:
        """The form, as a JSON Schema."""
        fields: dict[str, Any] = {'answer': {'type': 'string', 'enum': list(self.choices)}}
        if any(event == 'deny' for event, _ in self.choices.values()):
            fields['reason'] = {
                'type': 'string',
                'description': 'With deny: the reason given to the agent.',
            }
        return {'type': 'object', 'properties': fields, 'required': ['answer']}

    async def answer(self, conductor: Conductor, result: ElicitResult) -> None:
        """Send the chosen event; do nothing if none was chosen or the run has moved on."""
        content = result.content or {}
        if result.action != 'accept' or content.get('answer') not in self.choices:
            return
        event, at = self.choices[str(content['answer'])]
        reason = content.get('reason') if event == 'deny' else None
        data = {'reason': str(reason)} if reason else {}
        with suppress(StepPassed, EventRefused):
            await conductor.send(self.run, event, at=at, data=data, seen=self.seq)


async def question_of(conductor: Conductor, info: RunInfo) -> Question | None:
    """Return a waiting run's question; None if every event that it accepts needs data."""
    accepted = await conductor.accepts(info.id)
    events = [event for event in accepted if not event.takes or event.event in ANSWERS]
    if not events:
        return None
    alike = len({event.at for event in events}) == 1
    choices = {
        event.event if alike else f'{event.event} {event.at}': (event.event, event.at) for event in events
    }
    calls = dict.fromkeys(call for event in events for call in event.calls)
    message = '\n'.join([f'Run {info.id} ({info.title}) waits: {info.waiting}', *calls])
    return Question(info.id, info.seq, message, choices)

"""Setting breakpoints of a run: by form, at once from the diagram, and taking them away again."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from engine import Breakpoint, Conductor, EngineError, InvalidInput, RunId
from ui.presenters.reading import short
from ui.stepping.condition import Probe, Reading
from ui.stepping.editor import edit_breakpoint
from ui.stepping.stepper import Stepper
from ui.stepping.words import label

LONGEST = 60
"""Characters of a value that is shown beside its name."""


class Setting:
    """What a person does with the breakpoints of one run."""

    def __init__(self, conductor: Conductor, run: RunId, stepper: Stepper) -> None:
        self._conductor, self._run, self._stepper = conductor, run, stepper

    async def add(self, item: Breakpoint | None = None) -> None:
        """Ask for one more, beginning with `item`."""
        started = item or Breakpoint(enter=self._stepper.shape.initial)
        made = await edit_breakpoint(self._stepper.shape, started, self._probe())
        if made is not None:
            await self.put(made)

    async def edit(self, item: Breakpoint) -> None:
        """Ask for what is to be changed of one."""
        made = await edit_breakpoint(self._stepper.shape, item, self._probe())
        if made is not None:
            await self.change(made)

    async def put(self, item: Breakpoint) -> None:
        """Set one more."""
        if await self._stepper.set(lambda known: [*known, item]):
            self._say(f'Breakpoint set: {label(item)}')

    async def change(self, item: Breakpoint) -> None:
        """Set one anew, by its number."""
        await self._stepper.set(lambda known: [item if one.id == item.id else one for one in known])

    async def remove(self, items: Sequence[Breakpoint]) -> None:
        """Take some away."""
        ids = {item.id for item in items}
        if await self._stepper.set(lambda known: [one for one in known if one.id not in ids]):
            self._say('Breakpoint removed' if len(ids) == 1 else 'Breakpoints removed')

    def _say(self, sentence: str) -> None:
        ui.notify(sentence, timeout=2_500)

    def _probe(self) -> Probe:
        memory = self._stepper.view.memory if self._stepper.view else {}
        fields = {name: short(value, LONGEST) for name, value in memory.items()}
        return Probe(read=self._read, fields=fields)

    async def _read(self, text: str) -> Reading:
        try:
            found = await self._conductor.probe(self._run, text)
        except InvalidInput as error:
            return Reading(problem='; '.join(error.problems.values()))
        except EngineError as error:
            return Reading(now=str(error))
        if found is None:
            return Reading()
        if found.problem:
            return Reading(now=f'At step {found.seq} it cannot be evaluated: {found.problem}.')
        values = ', '.join(f'{name} is {short(value, LONGEST)}' for name, value in found.values.items())
        answer = str(found.holds).lower()
        return Reading(now=f'At step {found.seq} it is {answer}' + (f': {values}.' if values else '.'))

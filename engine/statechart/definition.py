"""PatternDefinition: a pattern class's declarations, from which its chart is validated and drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, final

from pydantic import BaseModel

from engine.statechart.memory import Memory as BaseMemory

Declarations = Sequence[Any]


class PatternDefinition:
    """A pattern's declarations, and its chart for the given parameters."""

    name: ClassVar[str] = ''
    version: ClassVar[str] = ''
    """What its code or its text hashes to; '' if it is in no file. Set by the catalog."""
    abstract: ClassVar[bool] = False
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ''
    summary: ClassVar[str] = ''
    family: ClassVar[str] = ''
    suits: ClassVar[tuple[str, ...]] = ()
    initial: ClassVar[str] = ''
    answer: ClassVar[str] = ''
    caveat: ClassVar[str] = ''
    wait_texts: ClassVar[Mapping[str, str]] = MappingProxyType({})
    projects: ClassVar[tuple[str, ...]] = ()
    marks: ClassVar[Mapping[str, str]] = MappingProxyType({})
    words: ClassVar[Mapping[str, str | tuple[str, str]]] = MappingProxyType({})
    inputs: ClassVar[Mapping[str, type[BaseModel]]] = {}

    class Parameters(BaseModel):
        """The fields of the launch form."""

    instruction_overrides: Mapping[str, str] = {}
    """Per run, by role: standing instructions that replace the pattern's."""

    Memory: type[BaseMemory] = BaseMemory
    states: Any = ()
    transitions: Any = ()
    panels: Any = MappingProxyType({})

    def __init__(self, parameters: BaseModel | None = None) -> None:
        self.parameters: Any = parameters if parameters is not None else self.Parameters()

    @final
    def chart_states(self) -> Declarations:
        """Return the states for the given parameters."""
        return self.states() if callable(self.states) else self.states  # type: ignore[no-any-return]

    @final
    def chart_transitions(self) -> Declarations:
        """Return the transitions for the given parameters."""
        return self.transitions() if callable(self.transitions) else self.transitions  # type: ignore[no-any-return]

    @final
    def chart_panels(self) -> Mapping[str, str | Mapping[str, str]]:
        """Return the panels for the given parameters."""
        return self.panels() if callable(self.panels) else self.panels  # type: ignore[no-any-return]

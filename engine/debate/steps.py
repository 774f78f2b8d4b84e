"""The guards and actions of a debate: whose turn it is, what is kept of a word, and when it is over."""

from __future__ import annotations

from engine.course import Scope
from engine.debate import consensus, seats
from engine.debate.records import SYNTHESIZER, Consensus, DebateMemory, Position, Said
from engine.debate.terms import Terms
from engine.debate.words import position_of
from engine.records import Event


def begin(terms: Terms, scope: Scope, event: Event) -> None:
    """Open a new debate."""
    debate = seats.of(scope).debate
    debate.number += 1
    debate.phase = terms.phase
    debate.round, debate.turn = 1, 0
    debate.absent = {}


def is_void(terms: Terms, scope: Scope, event: Event) -> bool:
    """Every reviewer has failed."""
    return set(terms.names) <= set(seats.of(scope).debate.absent)


def is_agreed(terms: Terms, scope: Scope, event: Event) -> bool:
    """The reviewers have come to a consensus."""
    return consensus.is_agreed(seats.of(scope), terms.names)


def is_spent(terms: Terms, scope: Scope, event: Event) -> bool:
    """All rounds have been held."""
    return seats.of(scope).debate.round > terms.rounds


def is_turn(place: int, scope: Scope, event: Event) -> bool:
    """It is this reviewer's turn."""
    return seats.of(scope).debate.turn == place


def speak(me: str, terms: Terms, scope: Scope, event: Event) -> None:
    """Keep what a reviewer said."""
    position = read(terms, seats.of(scope), event)
    _say(me, terms, scope, event, position, human=False)


def say(me: str, terms: Terms, scope: Scope, event: Event) -> None:
    """Keep what a person said in a reviewer's seat."""
    position = seats.word(event.data, seats.of(scope).names())
    _say(me, terms, scope, event, position, human=True)


def drop(me: str, terms: Terms, scope: Scope, event: Event) -> None:
    """A reviewer failed: it takes no further part in this debate."""
    memory = seats.of(scope)
    problem = str(event.data.get('error') or 'it failed')
    memory.transcript.append(
        Said(
            speaker=me,
            phase=terms.phase,
            debate=memory.debate.number,
            round=memory.debate.round,
            text='',
            problem=problem,
        )
    )
    memory.debate.absent[me] = problem
    _advance(terms, memory)


def agree(terms: Terms, scope: Scope, event: Event) -> None:
    """Write the consensus down."""
    memory = seats.of(scope)
    memory.consensuses.append(consensus.agreed(memory, terms.names))


def synthesize(terms: Terms, scope: Scope, event: Event) -> None:
    """Keep what was drawn from the debate in place of a consensus, marked as such."""
    memory = seats.of(scope)
    _synthesized(terms, memory, read(terms, memory, event), model=str(event.data.get('model', '')))


def gather(terms: Terms, scope: Scope, event: Event) -> None:
    """The synthesis failed too: all demands stand, and the best is revised."""
    memory = seats.of(scope)
    words = consensus.latest(memory, terms.names).values()
    position = Position(
        text='There was no consensus, and none could be drawn from what was said. All demands stand.',
        verdict='REVISE_BEST',
        changes=consensus.demands([said.position for said in words if said.position]),
    )
    _synthesized(terms, memory, position, model='')


def read(terms: Terms, memory: DebateMemory, event: Event) -> Position:
    """The position in an answer: a record, or text with keywords."""
    if terms.words_only:
        return position_of(str(event.data.get('text', '')), memory.names())
    return consensus.cleaned(Position.model_validate(event.data['output']), memory.names())


def _say(  # noqa: PLR0913
    me: str, terms: Terms, scope: Scope, event: Event, position: Position, *, human: bool
) -> None:
    memory = seats.of(scope)
    memory.transcript.append(
        Said(
            speaker=me,
            model='' if human else str(event.data.get('model', '')),
            phase=terms.phase,
            debate=memory.debate.number,
            round=memory.debate.round,
            text=position.text,
            position=consensus.cleaned(position, memory.names()),
            human=human,
        )
    )
    _advance(terms, memory)


def _advance(terms: Terms, memory: DebateMemory) -> None:
    """Give the turn to the next reviewer who is present."""
    debate, count = memory.debate, len(terms.names)
    for _ in range(count):
        debate.turn = (debate.turn + 1) % count
        if debate.turn == 0:
            debate.round += 1
        if terms.names[debate.turn] not in debate.absent:
            return


def _synthesized(terms: Terms, memory: DebateMemory, position: Position, *, model: str) -> None:
    number, rounds = memory.debate.number, terms.rounds
    memory.transcript.append(
        Said(
            speaker=SYNTHESIZER,
            model=model,
            phase=terms.phase,
            debate=number,
            round=rounds,
            text=position.text,
            position=position,
            synthesized=True,
        )
    )
    memory.consensuses.append(
        Consensus(
            debate=number,
            # Only reviewers approve, each with its own word.
            verdict='UNDECIDED' if position.verdict == 'APPROVE' else position.verdict,
            best=position.best,
            text=position.text,
            changes=position.changes,
            rests_on=position.rests_on,
            round=rounds,
            synthesized=True,
        )
    )

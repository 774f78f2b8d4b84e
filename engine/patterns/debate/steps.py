"""Guards and actions of a debate: turns, recording what is said, and when it ends."""

from __future__ import annotations

from typing import Any

from engine.patterns.debate import consensus, seats
from engine.patterns.debate.candidate_names import resolve_names
from engine.patterns.debate.config import DebateConfig
from engine.patterns.debate.position_parser import parse_position
from engine.patterns.debate.records import SYNTHESIZER, Consensus, DebateMemory, Position, Utterance
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext


def begin_debate(config: DebateConfig, scope: CallbackContext, event: Event) -> None:
    """Start a new debate."""
    debate = seats.debate_memory(scope).debate
    debate.number += 1
    debate.phase = config.phase
    debate.round, debate.turn = 1, 0
    debate.absent = {}


def is_void(config: DebateConfig, scope: CallbackContext, event: Event) -> bool:
    """Every reviewer has failed."""
    return set(config.names) <= set(seats.debate_memory(scope).debate.absent)


def is_agreed(config: DebateConfig, scope: CallbackContext, event: Event) -> bool:
    """The reviewers have reached consensus."""
    return consensus.is_agreed(seats.debate_memory(scope), config.names)


def is_spent(config: DebateConfig, scope: CallbackContext, event: Event) -> bool:
    """All rounds are over, or too few reviewers are left to agree and all of them have spoken."""
    memory = seats.debate_memory(scope)
    present = set(config.names) - set(memory.debate.absent)
    too_few = not consensus.are_enough(len(present), config.names)
    spoken = consensus.latest_utterances(memory, config.names)
    return memory.debate.round > config.rounds or (too_few and set(spoken) == present)


def is_turn(place: int, scope: CallbackContext, event: Event) -> bool:
    """It is this reviewer's turn."""
    return seats.debate_memory(scope).debate.turn == place


def record_turn(me: str, config: DebateConfig, scope: CallbackContext, event: Event) -> None:
    """Record a reviewer's turn."""
    memory, model = seats.debate_memory(scope), str(event.data.get('model', ''))
    position = read_position(config, memory, event)
    _add_utterance(config, memory, me, position.text, position=position, model=model)
    _advance(config, memory)


def record_human_turn(me: str, config: DebateConfig, scope: CallbackContext, event: Event) -> None:
    """Record a person's turn in a reviewer's seat."""
    memory = seats.debate_memory(scope)
    position = seats.parse_turn(event.data, memory.names())
    _add_utterance(config, memory, me, position.text, position=position, human=True)
    _advance(config, memory)


def record_absence(me: str, config: DebateConfig, scope: CallbackContext, event: Event) -> None:
    """Drop a failed reviewer from this debate."""
    memory = seats.debate_memory(scope)
    problem = str(event.data.get('error') or 'it failed')
    _add_utterance(config, memory, me, '', problem=problem)
    memory.debate.absent[me] = problem
    _advance(config, memory)


def record_consensus(config: DebateConfig, scope: CallbackContext, event: Event) -> None:
    """Derive the consensus from the positions, and store it."""
    memory = seats.debate_memory(scope)
    memory.consensuses.append(consensus.build_consensus(memory, config.names))


def record_synthesis(config: DebateConfig, scope: CallbackContext, event: Event) -> None:
    """Record a synthesis in place of a consensus, marked as such."""
    memory = seats.debate_memory(scope)
    _add_synthesis(
        config, memory, read_position(config, memory, event), model=str(event.data.get('model', ''))
    )


def record_rule_synthesis(config: DebateConfig, scope: CallbackContext, event: Event) -> None:
    """Record a fallback when synthesis fails too: revise the best, with all demands."""
    memory = seats.debate_memory(scope)
    utterances = consensus.latest_utterances(memory, config.names).values()
    position = Position(
        text='There was no consensus, and the synthesis failed. All demands stand.',
        verdict='REVISE_BEST',
        changes=consensus.demands([utterance.position for utterance in utterances if utterance.position]),
    )
    _add_synthesis(config, memory, position, model='')


def read_position(config: DebateConfig, memory: DebateMemory, event: Event) -> Position:
    """Parse an answer's position: a record, or text with keywords."""
    names = memory.names()
    if config.words_only:
        return resolve_names(parse_position(str(event.data.get('text', '')), names), names)
    return resolve_names(Position.model_validate(event.data['output']), names)


def _add_utterance(config: DebateConfig, memory: DebateMemory, speaker: str, text: str, **more: Any) -> None:
    """Add to the transcript; what follows the last round, a synthesis, counts as part of it."""
    memory.transcript.append(
        Utterance(
            speaker=speaker,
            phase=config.phase,
            debate=memory.debate.number,
            round=min(memory.debate.round, config.rounds),
            text=text,
            **more,
        )
    )


def _advance(config: DebateConfig, memory: DebateMemory) -> None:
    """Pass the turn to the next reviewer present."""
    debate, count = memory.debate, len(config.names)
    for _ in range(count):
        debate.turn = (debate.turn + 1) % count
        if debate.turn == 0:
            debate.round += 1
        if config.names[debate.turn] not in debate.absent:
            return


def _add_synthesis(config: DebateConfig, memory: DebateMemory, position: Position, *, model: str) -> None:
    changes = position.changes
    if position.verdict == 'APPROVE':
        utterances = consensus.latest_utterances(memory, config.names).values()
        asked_changes = consensus.demands(
            [utterance.position for utterance in utterances if utterance.position]
        )
        changes = tuple(dict.fromkeys([*changes, *asked_changes]))
    _add_utterance(
        config, memory, SYNTHESIZER, position.text, model=model, position=position, synthesized=True
    )
    memory.consensuses.append(
        Consensus(
            debate=memory.debate.number,
            # Only reviewers can approve, each for itself; until they do, their demands stand.
            verdict='UNDECIDED' if position.verdict == 'APPROVE' else position.verdict,
            best=position.best,
            text=position.text,
            changes=changes,
            rests_on=position.rests_on,
            round=memory.transcript[-1].round,
            synthesized=True,
        )
    )

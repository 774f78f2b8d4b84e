"""States: a pattern's states and transitions as those of a chart file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from engine.agents.activities import call_model
from engine.agents.spec import AgentSpec
from engine.charts.export.code import CodeWriter, is_ours
from engine.charts.export.fields import FieldWriter
from engine.charts.export.operands import Unsayable
from engine.charts.export.writing import Place
from engine.statechart.retry import Retry
from engine.statechart.shape_builder import callback_names, children_of, edge_of, listify

STAND_IN = 'left_out'
"""The state that stands in for work in Python: it ends at once."""
INSIDE = ('thinking', 'using_tools', 'approving', 'asking', 'done', 'failed')
"""The states of each agent."""


class StateWriter:
    """Writes states and transitions.

    Args:
        code: writes the callbacks.
        fields: writes the records of answers.
        note: notes what cannot be said.
    """

    def __init__(self, code: CodeWriter, fields: FieldWriter, note: Callable[[Place, str], None]) -> None:
        self._code, self._fields, self._note = code, fields, note
        self.roles: dict[str, dict[str, Any]] = {}

    def states(self, states: Sequence[Any], place: Place) -> dict[str, Any]:
        """Return states by name."""
        named = [{'name': item} if isinstance(item, str) else item for item in states]
        return {state['name']: self._state(state, (*place, state['name'])) for state in named}

    def edges(self, edges: Sequence[Any], place: Place) -> list[dict[str, Any]]:
        """Return transitions in order."""
        return [self._edge(edge_of(item), (*place, number)) for number, item in enumerate(edges)]

    def _state(self, state: Mapping[str, Any], place: Place) -> dict[str, Any]:
        written = self._agent(state, place) if 'agent' in state else self._plain(state, place)
        within = state.get('within')
        if isinstance(within, int | float):
            written['within'] = within
        elif within is not None:
            try:
                written['within'] = self._code.expression(within, (*place, 'within'))
            except Unsayable as problem:
                self._note(place, f'within: {callback_names(within)[0]}: {problem}')
        written['exit'] = self._code.steps(state.get('on_exit'), (*place, 'exit'))
        most = state.get('most_visits', 1)
        written['most_visits'] = most
        return {key: _single(value) for key, value in written.items() if _says(key, value)}

    def _plain(self, state: Mapping[str, Any], place: Place) -> dict[str, Any]:
        written: dict[str, Any] = {key: state.get(key, '') for key in ('waits', 'caption')}
        written |= {'final': bool(state.get('final')), 'outcome': state.get('outcome', 'done')}
        written['enter'] = self._code.steps(state.get('on_enter'), (*place, 'enter'))
        if state.get('seat'):
            self._note(place, f'a person takes the seat of {state["seat"]} in it')
        if 'invoke' in state:
            work = callback_names(state['invoke'])[0]
            self._note(
                place, f'{work}, which works in Python; `{STAND_IN}` stands in for it and ends at once'
            )
            return {**written, 'initial': STAND_IN, 'states': {STAND_IN: {'final': True}}}
        if children := children_of(state):
            inside = 'parallel' if state.get('parallel') else 'states'
            written['initial'] = '' if state.get('parallel') else state.get('initial', '')
            written[inside] = self.states(children, (*place, inside))
            written['transitions'] = self.edges(state.get('transitions', ()), (*place, 'transitions'))
        return written

    def _agent(self, state: Mapping[str, Any], place: Place) -> dict[str, Any]:
        spec: AgentSpec = state['agent']
        inner = [edge_of(item) for item in state['transitions']]
        answers = [
            step
            for edge in inner
            if (edge['trigger'], edge['source'], edge['dest']) == ('done', 'thinking', 'done')
            for step in listify(edge.get('after'))
            if not is_ours(step)
        ]
        before = [step for step in listify(inner[0].get('before')) if not is_ours(step)]
        entry = [step for step in listify(state.get('on_enter')) if not is_ours(step)]
        self._note_extras(state, place)
        return {
            'agent': self._who(state, spec, place),
            'caption': state.get('caption', ''),
            'output': self._fields.record(spec.output, (*place, 'output')) if spec.output else '',
            'prompt': self._code.prompt(spec.prompt, (*place, 'prompt')),
            'then': self._code.steps(answers, (*place, 'then')),
            'enter': self._code.steps(entry, (*place, 'enter')),
            'on_step': self._code.steps(before, (*place, 'on_step')),
        }

    def _who(self, state: Mapping[str, Any], spec: AgentSpec, place: Place) -> Any:
        names = [
            self._role(
                role.name, {'title': role.title, 'instructions': role.instructions, 'tools': role.tools}
            )
            for role in spec.possible_roles
        ]
        who: dict[str, Any] = {'role': names[0]}
        if spec.roles:
            self._note(
                (*place, 'agent', 'cast'), 'which role it plays is decided in Python: always the first here'
            )
            who = {'roles': names, 'cast': repr(names[0])}
        known = tuple(dict.fromkeys(tool for name in names for tool in self.roles[name]['tools']))
        if tuple(spec.tools) != known:
            who['tools'] = list(spec.tools)
        turns = spec.until.turns if spec.until else spec.turns
        thinking = next(child for child in children_of(state) if child['name'] == 'thinking')
        retry = thinking.get('retry', Retry())
        who |= {
            key: value for key, value in (('turns', turns), ('folder', spec.folder)) if value not in (12, '')
        }
        if spec.may_be_silent:
            who['may_be_silent'] = True
        if retry != Retry():
            who['retry'] = {'attempts': retry.attempts, 'delay': retry.delay, 'longest': retry.longest}
        if spec.until:
            who.pop('turns', None)
            who['until'] = self._until(spec, (*place, 'agent', 'until'))
        return who['role'] if list(who) == ['role'] else who

    def _until(self, spec: AgentSpec, place: Place) -> dict[str, Any]:
        until: Any = spec.until
        for check in until.checks:
            self._note(place, f'{check.name}, a check in Python: {check.missing}')
        written = {key: getattr(until, key) for key in ('rule', 'signal', 'words', 'turns', 'reminders')}
        usual = {'rule': 'either', 'signal': '', 'words': '', 'turns': 24, 'reminders': 3}
        written = {key: value for key, value in written.items() if value != usual[key]}
        return {**written, 'artifacts': list(until.artifacts)} if until.artifacts else written

    def _role(self, name: str, role: dict[str, Any]) -> str:
        """Return the name of a role, which is another one if there is already a role of that name."""
        written = {**role, 'tools': list(role['tools'])}
        if written['title'] == name:
            del written['title']
        number, own = 1, name
        while self.roles.setdefault(own, written) != written:
            number += 1
            own = f'{name}_{number}'
        return own

    def _note_extras(self, state: Mapping[str, Any], place: Place) -> None:
        """Note what an agent's state has that others do not."""
        extra = [child['name'] for child in children_of(state) if child['name'] not in INSIDE]
        if extra:
            self._note(place, f'its state {", ".join(extra)}, in which a person acts in its place')
        thinking = next(child for child in children_of(state) if child['name'] == 'thinking')
        work = thinking.get('invoke')
        if not isinstance(work, partial) or work.func is not call_model:
            self._note(place, f'{callback_names(work)[0]}, which works in Python before a model is asked')

    def _edge(self, edge: Mapping[str, Any], place: Place) -> dict[str, Any]:
        source = edge['source']
        written = {
            'on': edge['trigger'],
            'from': source if isinstance(source, str) else list(source),
            'to': edge['dest'] or '',
            'history': edge.get('history', ''),
            'if': [self._code.guard(item, (*place, 'if')) for item in listify(edge.get('conditions'))],
            'unless': [self._code.guard(item, (*place, 'unless')) for item in listify(edge.get('unless'))],
            'do': self._code.steps(edge.get('before'), (*place, 'do')),
            'after': self._code.steps(edge.get('after'), (*place, 'after')),
        }
        return {key: _single(value) for key, value in written.items() if value not in ('', [])}


def _single(value: Any) -> Any:
    """Return the only name in a list; else the value."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else value


def _says(key: str, value: Any) -> bool:
    """Return whether a key of a state says more than nothing."""
    return value not in ('', [], {}, False) and (key, value) not in (('outcome', 'done'), ('most_visits', 1))

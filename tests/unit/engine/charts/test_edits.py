"""Edits of a chart's text by clicks: what they touch, what they leave, and what they refuse."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.charts import load_chart
from engine.charts.edits import (
    AddAgent,
    AddEdge,
    AddState,
    ChangeEdge,
    DeleteEdge,
    DeleteState,
    Edit,
    Rename,
    SetDefault,
    SetKey,
    SetRole,
    edit_chart,
    parse_edit,
)
from engine.charts.edits.mentions import STEPS, WITHIN
from engine.charts.format import Part
from engine.errors import InvalidInput
from engine.statechart.shape_builder import build_shape
from tests.unit.engine.charts.edited_charts import (
    COMMENTED,
    LAYOUTS,
    data_of,
    random_edit,
    random_typing,
    shape_of,
)

PATHS = ('set', 'append', 'increment', 'remove')
VALUES = ('facts', 'prose', 'define', 'output', 'let', 'set', 'append', 'increment')
PLAIN = ('default', 'examples', 'parameters', 'stubs')
"""What holds neither expressions nor templates."""
layouts = pytest.mark.parametrize('text', LAYOUTS.values(), ids=LAYOUTS)


def renamed(path: str) -> str:
    return re.sub(r'^work\b', 'job', path)


def refused(text: str, edit: Edit) -> dict[str, str]:
    with pytest.raises(InvalidInput) as error:
        edit_chart(text, edit)
    return error.value.problems


@layouts
def test_a_state_is_renamed_wherever_it_is_named(text):
    before, after = shape_of(text), shape_of(edit_chart(text, Rename(what='state', old='work', new='job')))
    assert [state.path for state in after.states] == [renamed(state.path) for state in before.states]
    ends = [(edge.source, edge.dest) for edge in after.edges]
    assert ends == [(renamed(edge.source), renamed(edge.dest)) for edge in before.edges]


@layouts
@pytest.mark.parametrize('new', ['12', '1e3', 'true'])
def test_a_name_may_look_like_a_number_or_a_truth_value(text, new):
    after = edit_chart(text, Rename(what='state', old='asking', new=new))
    assert new in [state.path for state in shape_of(after).states]
    assert data_of(edit_chart(after, Rename(what='state', old=new, new='asking'))) == data_of(text)
    added = edit_chart(text, AddState(name=new, to='done', waits='help', position=0))
    assert data_of(edit_chart(added, DeleteState(state=new))) == data_of(text)


def test_renaming_touches_stubs_and_comparisons_but_no_prose():
    text = edit_chart(COMMENTED, Rename(what='state', old='work', new='job'))
    assert 'job.judging: [Good]' in text and "if: at == 'job'" in text and '# The work.' in text
    text = edit_chart(COMMENTED, Rename(what='field', old='task', new='topic'))
    assert 'Task: {{ memory.topic }}   (memory.task is the task)' in text
    assert data_of(text)['parameters'].keys() == {'topic', 'rounds'}
    assert data_of(text)['scenarios'][0]['parameters'] == {'topic': 'A toast'}


@layouts
@pytest.mark.parametrize(
    ('what', 'old', 'new', 'where'),
    [
        ('role', 'writer', 'author', ['roles', 'stubs', 'agent']),
        ('field', 'drafts', 'texts', ['memory', 'panels', 'append', 'unless']),
        ('guard', 'is_spent', 'is_over', ['guards', 'if']),
        ('action', 'keep', 'store', ['actions', 'then']),
        ('record', 'Draft', 'Version', ['records', 'items']),
        ('definition', 'latest', 'newest', ['define', 'define', 'unless']),
    ],
)
def test_there_and_back_is_the_same_text(text, what, old, new, where):
    there = edit_chart(text, Rename(what=what, old=old, new=new))
    assert len(re.findall(rf'\b{new}\b', there)) >= len(where) - 1
    assert not re.search(rf'\b{old}\b', there)
    assert edit_chart(there, Rename(what=what, old=new, new=old)) == text


@layouts
@pytest.mark.parametrize('position', [0, 1, None])
def test_what_is_added_and_deleted_again_leaves_the_same_text(text, position):
    for parent, to in (('', 'done'), ('work', 'work.over')):
        path = f'{parent}.extra'.lstrip('.')
        added = AddAgent(
            name='extra', parent=parent, role='critic', prompt='{{ memory.answer }}', to=to, position=position
        )
        after = edit_chart(text, added)
        assert shape_of(after).state(path).role == 'critic'
        assert edit_chart(after, DeleteState(state=path)) == text
    edge = AddEdge(
        trigger='verdict', source='asking', dest='work', conditions=('is_spent', 'memory.round == 1')
    )
    after = edit_chart(text, edge)
    assert edit_chart(after, DeleteEdge(trigger='verdict', source='asking', dest='work')) == text


def test_a_guarded_transition_comes_before_the_one_that_is_always_taken():
    back = {'trigger': 'verdict', 'source': 'asking', 'dest': 'work'}
    text = edit_chart(COMMENTED, AddEdge(**back, conditions=('is_spent',)))
    ends = [(edge.source, edge.dest) for edge in shape_of(text).edges if edge.trigger == 'verdict']
    assert ends == [('asking', 'work'), ('asking', 'done')]
    problem = refused(COMMENTED, AddEdge(**back))
    line = COMMENTED[: COMMENTED.index('  - {on: verdict')].count('\n') + 1
    assert problem == {'conditions': f'line {line} is always taken, so it needs a guard, or that line does'}


def test_renaming_knows_each_key_of_the_format_that_holds_code():
    known = {'Code|Guards': {*WITHIN, *PATHS}, 'Steps': {*STEPS, 'actions'}, 'JsonValue': {*VALUES, *PLAIN}}
    parts, checked = list(Part.__subclasses__()), 0
    for part in parts:
        for name, annotation in part.__annotations__.items():
            for kinds, keys in known.items():
                if re.search(rf'\b({kinds})\b', annotation):
                    assert (part.model_fields[name].alias or name) in keys, (part, name)
                    checked += 1
    assert checked > 30


@layouts
def test_a_state_goes_with_its_transitions_and_stubs(text):
    deletion = DeleteState(state='work.judging')
    assert [words for _, words in deletion.goes_too(text)] == [
        'done from work.writing to work.judging', 'done from work.judging to work.over',
        'done from work.judging to work.writing', 'the stubs of work.judging', 'the stubs of critic',
    ]  # fmt: skip
    text = edit_chart(
        edit_chart(
            text, AddEdge(trigger='done', source='work.writing', dest='work.over', conditions=('is_spent',))
        ),
        deletion,
    )
    assert 'judging' not in text
    assert shape_of(text).state('work.judging') is None


@layouts
def test_a_transition_of_several_sources_loses_one(text):
    text = edit_chart(text, DeleteEdge(trigger='expired', source='work', dest='failed'))
    assert data_of(text)['transitions'][-1]['from'] == ['asking']


@layouts
def test_the_guards_and_the_end_of_a_transition_change(text):
    edge = {'trigger': 'done', 'source': 'work.judging', 'dest': 'work.writing'}
    changed = ChangeEdge(
        **edge, conditions=('memory.round < 1', 'is_spent'), unless=(), new_dest='work.judging'
    )
    assert data_of(edit_chart(text, changed))['states']['work']['transitions'][-1] == {
        'on': 'done', 'from': 'judging', 'to': 'judging', 'if': ['memory.round < 1', 'is_spent'],
    }  # fmt: skip


@layouts
def test_keys_of_a_state_are_set_and_deleted(text):
    prompt = 'Schön:\n  {{ memory.task }} # "x"\n\nand\n'
    text = edit_chart(text, SetKey(state='work.writing', key='prompt', value=prompt))
    text = edit_chart(text, SetKey(state='work.writing', key='within', value=90))
    text = edit_chart(text, SetKey(state='work.writing', key='role', value='critic'))
    assert 'writer' not in data_of(text)['scenarios'][0]['stubs']
    state = data_of(text)['states']['work']['states']['writing']
    assert state == {'agent': 'critic', 'prompt': prompt, 'within': 90, 'then': 'keep'}
    text = edit_chart(text, SetKey(state='work.writing', key='within', value=None))
    assert 'within' not in data_of(text)['states']['work']['states']['writing']


@layouts
@pytest.mark.parametrize('said', ['Be {{ brief }}.\n', '- "no": {# x #}\n\n# really', ''])
def test_what_runs_start_with_is_set_where_it_stands(text, said):
    text = edit_chart(text, SetDefault(parameter='rounds', value=5))
    text = edit_chart(text, SetDefault(parameter='task', value='A toast'))
    text = edit_chart(text, SetRole(role='critic', instructions=said, tools=('notes',)))
    chart = load_chart(text)
    assert (chart.parse({}).rounds, chart.parse({}).task) == (5, 'A toast')
    writer, critic = chart.sample().all_roles()
    assert (critic.instructions, critic.tools) == (said, ('notes',))
    assert (writer.instructions, writer.tools) == ('You write.', ('notes',))


def test_a_default_and_a_role_without_anything_are_filled():
    text = COMMENTED.replace('  rounds: {type: integer,   default: 2}\n', '  rounds: integer   # some\n')
    text = text.replace("critic: {instructions: 'You judge.'}", 'critic: {}')
    text = edit_chart(text, SetDefault(parameter='rounds', value=3))
    text = edit_chart(text, SetRole(role='critic', instructions='You judge.'))
    assert '  rounds: {type: integer, default: 3}   # some\n' in text
    assert load_chart(text).sample().all_roles()[1].instructions == 'You judge.'


@pytest.mark.parametrize(
    ('edit', 'problem'),
    [
        (SetDefault(parameter='size', value=1), {'parameter': "no parameter 'size'"}),
        (SetDefault(parameter='rounds', value='many'), {'edit': 'is no value of this type'}),
        (SetRole(role='editor', tools=()), {'role': "no role 'editor'"}),
        (SetKey(state='work.judging', key='prompt', value=None), {'edit': r'line \d+: .* needs a `prompt`'}),
        (AddState(name='asking', final=True), {'name': "already a state 'asking'"}),
        (AddState(name='x', parent='work.writing'), {'parent': 'is an agent'}),
        (DeleteState(state='work'), {'state': 'the run begins in it'}),
        (DeleteState(state='work.writing.thinking'), {'state': 'inside the agent'}),
        (DeleteEdge(trigger='failed', source='work', dest='failed'), {'edge': 'every state: change line'}),
        (DeleteEdge(trigger='done', source='work', dest='done'), {'edge': 'there are: done to asking'}),
        (Rename(what='role', old='writer', new='critic'), {'new': "already a role 'critic'"}),
        (Rename(what='field', old='task', new='a b'), {'new': 'cannot be the name of a field'}),
        (Rename(what='guard', old='nobody', new='x'), {'old': "no guard 'nobody'"}),
        (ChangeEdge(trigger='done', source='work', dest='asking', new_dest='x'), {'new_dest': 'no state'}),
    ],
    ids=str,
)  # fmt: skip
def test_an_edit_that_does_not_fit_says_why(edit, problem):
    [(field, text)] = refused(COMMENTED, edit).items()
    [(expected, words)] = problem.items()
    assert re.fullmatch(expected, field) and re.search(words, text)


def test_a_broken_text_is_refused_by_line():
    [(where, problem)] = refused(COMMENTED + '  - {on', AddState(name='x', final=True)).items()
    assert where == f'chart:{COMMENTED.count(chr(10)) + 1}' and 'neither YAML nor JSON' in problem
    assert 'anchors' in str(refused('chart: &a x\nstates: *a\n', AddState(name='x')))


def test_a_chart_that_does_not_work_yet_can_be_edited():
    text = 'chart: draft\nstates:\n'
    text = edit_chart(text, AddState(name='begin'))
    text = edit_chart(text, AddState(name='end', final=True))
    text = edit_chart(text, SetKey(key='initial', value='begin'))
    text = edit_chart(text, AddEdge(trigger='always', source='begin', dest='end'))
    assert [state.path for state in shape_of(text).states] == ['begin', 'end']


@layouts
def test_other_lines_stay_as_they_are(text):
    edits = [
        AddState(name='x', final=True), AddState(name='x', parent='work', to='work.over', position=1),
        SetKey(state='asking', key='within', value=5), Rename(what='action', old='keep', new='store'),
        DeleteEdge(trigger='verdict', source='asking', dest='done'),
    ]  # fmt: skip
    for edit in edits:
        before, after = text, edit.apply(text)
        pieces = [
            code
            for code in SequenceMatcher(
                None, re.split(r'\b', before), re.split(r'\b', after), autojunk=False
            ).get_opcodes()
            if code[0] != 'equal'
        ]
        assert sum(max(code[2] - code[1], code[4] - code[3]) for code in pieces) < 120, after
        assert before.count('#') == after.count('#')
        assert before.count('\r') == before.count('\n') * ('\r' in before)
        assert after.count('\r') == after.count('\n') * ('\r' in after)


def test_a_state_written_for_several_parameters_is_renamed_as_one_and_changed_in_the_text():
    text = """
chart: two
parameters: {fast: {type: boolean, default: true}}
initial: work
states:
  quick: {name: work, when: parameters.fast, waits: news}
  slow:
    name: work
    when: not parameters.fast
    waits: news
  end: {final: true}
transitions:
  - {on: news, from: work, to: end}
"""
    for fast in (True, False):
        renamed = load_chart(edit_chart(text, Rename(what='state', old='work', new='reading')))
        states = build_shape(renamed.sample({'fast': fast})).states
        assert [state.path for state in states] == ['reading', 'end']
    assert edit_chart(text, AddEdge(trigger='later', source='work', dest='end')).count('from: work') == 2
    problem = refused(text, SetKey(state='work', key='within', value=60))
    assert problem == {
        'state': "'work' is written for different parameters in lines 6 and 7: change it there"
    }


def test_an_edit_comes_as_json_through_one_door():
    edit = SetKey(state='asking', key='within', value=60)
    assert parse_edit(edit.model_dump()) == edit
    with pytest.raises(InvalidInput, match=r'rename\.old: Field required'):
        parse_edit({'kind': 'rename', 'what': 'role', 'new': 'x'})


@settings(max_examples=20)
@given(st.sampled_from(list(LAYOUTS)), st.randoms(use_true_random=False))
def test_random_clicks_and_typing_keep_a_working_chart_and_can_be_undone(layout, random):
    text, done = LAYOUTS[layout], []
    for _ in range(10):
        if random.random() < 0.3:
            edit, after = None, random_typing(random, text)
        else:
            edit = random_edit(random, text)
            try:
                after = edit_chart(text, edit)
            except InvalidInput:
                continue
        if is_working(after):
            done.append((text, edit, after))
            text = after
        else:
            assert edit is None
    for before, edit, after in reversed(done):
        assert text == after
        back = opposite(before, edit)
        text = edit_chart(after, back) if back else before
    assert text == LAYOUTS[layout]


def is_working(text: str) -> bool:
    try:
        load_chart(text)
    except InvalidInput:
        return False
    return True


def opposite(before: str, edit: Edit | None) -> Edit | None:
    """Return the edit that undoes one; None for those that lose something."""
    match edit:
        case AddState(name=name, parent=parent) | AddAgent(name=name, parent=parent):
            return DeleteState(state=f'{parent}.{name}'.lstrip('.'))
        case AddEdge(trigger=trigger, source=source, dest=dest):
            ends = [(each.trigger, each.source, each.dest) for each in shape_of(before).edges]
            is_new = (trigger, source, dest) not in ends
            return DeleteEdge(trigger=trigger, source=source, dest=dest) if is_new else None
        case Rename(what=what, old=old, new=new):
            around = old[: old.rindex('.') + 1] if what == 'state' and '.' in old else ''
            return Rename(what=what, old=around + new, new=old.removeprefix(around))
    return None

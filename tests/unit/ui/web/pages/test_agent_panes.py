"""What a run's panes show: tool calls, each agent's steps, regions, files and their diffs."""

from dataclasses import replace
from typing import Annotated

import pytest
from pydantic import Field

from engine import Event, Pattern, ToolContext, Transition, agent, tool
from engine.journal import fold
from engine.records import RunId, Spending, StatePath, Usage, View
from engine.statechart.shape_builder import build_shape
from ui.formatting.files import diff_rows, preview, size
from ui.formatting.tool_calls import BatchTime, CallContext, argument_problem, call_block
from ui.formatting.usage import cost_text, token_count, usage_notes, usage_rows, usage_summary
from ui.web.pages.run.agents.regions import columns_for, lay_out_panes, parallel_agents, parallel_states
from ui.web.replay.history import History, latest

DIGEST = 'a' * 64
CALL = {'kind': 'call', 'id': 'c1', 'name': 'write', 'arguments': '{"path": "a.py"}'}


def result(text: str, *, ok: bool = True) -> dict:
    return {'kind': 'result', 'id': 'c1', 'name': 'write', 'text': text, 'ok': ok}


def step(
    name: str, seq: int, at: str = '', time: float = 0.0, data: dict | None = None, **facts
) -> Transition:
    event = Event(name=name, at=StatePath(at), data=data or {}, attempt=facts.pop('attempt', 1))
    return Transition(run=RunId('r'), seq=seq, time=time, event=event, **facts)


@pytest.mark.parametrize(
    ('given', 'state'),
    [
        (None, 'waiting'),
        (result('done'), 'ok'),
        (result('no such file', ok=False), 'failed'),
        (result('A person did not allow this: too late', ok=False), 'denied'),
        (result('This was not run: the work was stopped.', ok=False), 'dropped'),
    ],
)
def test_a_call_shows_its_outcome(given, state):
    assert call_block(CALL, given, CallContext(stage='waiting'))['state'] == state


def test_a_call_shows_its_duration_and_links_to_the_whole_result():
    cut = result(f'head\n[cut: 9,000 more characters; the whole is kept as artifact {DIGEST}]\ntail')
    block = call_block(
        CALL, cut, CallContext(durations={'c1': BatchTime(seconds=2.5, calls=1)}, content_url='/runs/r/kept')
    )
    assert block['note'] == 'done · 2.5 s'
    assert block['arguments'] == [('path', 'a.py')]
    assert (block['omitted'], block['full_result_url']) == ('9,000', f'/runs/r/kept/{DIGEST}?name=write.txt')


@pytest.mark.parametrize('written', ['{"path": ', '[1]', 'x'])
def test_arguments_other_than_objects_are_shown_as_they_are(written):
    block = call_block({**CALL, 'arguments': written}, None, CallContext())
    assert (block['arguments'], block['raw']) == ([], written)


@tool(side_effects=True)
async def write(context: ToolContext, path: Annotated[str, Field(min_length=2)], mode: int = 0) -> str:
    """Write."""
    return 'ok'


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('{"path": "ab"}', ''),
        ('', 'path: Enter a value.'),
        ('{"path": "a"}', 'path: Enter at least 2 characters.'),
        ('{"path": "ab", "mode": "x"}', 'mode: Enter a whole number.'),
        ('{"path": "ab", "more": 1}', 'more: Extra inputs are not permitted.'),
        ('[]', 'Enter a JSON object.'),
    ],
)
def test_edited_arguments_are_checked_against_the_tool(text, problem):
    assert argument_problem(text, write) == problem


def test_json_errors_have_a_position():
    assert argument_problem('{"path" "ab"}', write).startswith("Invalid JSON: expecting ':' delimiter")


def test_the_history_has_replies_retries_times_and_versions():
    history = History()
    tools = StatePath('a.using_tools')
    reply = {'message': {}, 'model': 'm', 'source': 'live', 'failed': [{'model': 'n', 'error': 'down'}]}
    for item in (
        step('retry', 1, 'a.thinking', 10.0, {'delay': 3.0, 'error': 'busy'}, attempt=2),
        step('done', 2, 'a.thinking', 11.0, reply, entered=(tools,)),
        step(
            'done',
            3,
            'a.using_tools',
            13.0,
            {
                'results': [{'id': 'c1', 'name': 'write', 'text': 'ok', 'ok': True}],
                'snapshots': {'a': DIGEST},
            },
            left=(tools,),
        ),
        step('done', 5, 'a.using_tools', 15.0, {'results': [], 'snapshots': {'a': DIGEST}}),
        step('done', 6, 'a.using_tools', 16.0, {'results': [], 'snapshots': {'a': 'b' * 64}}),
    ):
        history.add(item)
    retry = latest(history.retries, 'a', 1)
    assert retry is not None
    assert (retry.attempt, retry.due, retry.error) == (2, 13.0, 'busy')
    last_reply = latest(history.replies, 'a', 9)
    assert last_reply is not None
    assert (last_reply.model, last_reply.failed) == ('m', ('n: down',))
    assert latest(history.replies, 'a', 1) is None
    assert history.batch_times['a']['c1'] == BatchTime(seconds=2.0, calls=1)
    assert [(version.seq, version.number) for version in history.versions['a']] == [(3, 1), (6, 2)]
    assert [(stay.since, stay.until) for stay in history.stays['a.using_tools']] == [(11.0, 13.0)]


class Side(Pattern):
    """Two regions, one of them with two agents in turn."""

    initial = 'both'
    states = (
        {
            'name': 'both',
            'parallel': [
                agent('one', prompt='ask'),
                {
                    'name': 'two',
                    'initial': 'first',
                    'children': [agent('first', prompt='ask'), agent('second', prompt='ask')],
                    'transitions': [['done', 'first', 'second']],
                },
            ],
        },
        {'name': 'over', 'final': True},
    )
    transitions = (['done', 'both', 'over'],)

    def ask(self, memory):
        return 'go'


def view_of(*entered: str) -> View:
    shape = build_shape(Side())
    paths = tuple(map(StatePath, entered))
    return fold(RunId('r'), shape, [step('start', 1, entered=paths, active=paths[-1:])])


def test_each_region_shows_its_active_agent():
    regions = parallel_states(build_shape(Side()))
    assert regions == {'both': {'both.one': ['both.one'], 'both.two': ['both.two.first', 'both.two.second']}}
    assert parallel_agents(regions, view_of('both', 'both.two', 'both.two.second')) == [
        'both.one',
        'both.two.second',
    ]
    assert parallel_agents(regions, view_of('over')) == []


def test_an_ended_region_without_an_agent_has_no_pane():
    regions = {'both': {'both.one': ['both.one.work'], 'both.two': ['both.two.work']}}
    view = view_of('both', 'both.one', 'both.one.work', 'both.two', 'both.two.left')
    assert parallel_agents(regions, view, {'both.two.left'}) == ['both.one.work']
    assert parallel_agents(regions, view, set()) == ['both.one.work', 'both.two.work']


@pytest.mark.parametrize(
    ('panes', 'wide', 'columns'), [(2, True, 2), (3, False, 2), (4, True, 2), (6, True, 3)]
)
def test_panes_are_laid_out_in_columns(panes, wide, columns):
    assert columns_for(panes, wide=wide) == columns


def test_the_last_pane_fills_its_row():
    assert [cell.style for cell in lay_out_panes(3, 2)] == [
        'grid-row: 1; grid-column: 1 / span 1',
        'grid-row: 1; grid-column: 3 / span 1',
        'grid-row: 3; grid-column: 1 / -1',
    ]


DIFF = (
    '--- a/x\n+++ b/x\n@@ -3,2 +3,3 @@\n same\n-old\n+new\n+newer\n'
    '@@ -20 +21 @@\n-gone\n\\ No newline at end of file\n'
)


def test_diff_rows_have_both_numbers_and_fold_equal_lines():
    assert diff_rows(DIFF) == [
        ['@', 0, 0, '2 unchanged lines'],
        [' ', 3, 3, 'same'],
        ['-', 4, 0, 'old'],
        ['+', 0, 4, 'new'],
        ['+', 0, 5, 'newer'],
        ['@', 0, 0, '15 unchanged lines'],
        ['-', 20, 0, 'gone'],
        ['\\', 0, 0, ' No newline at end of file'],
    ]
    assert diff_rows('') == []


@pytest.mark.parametrize(
    ('content', 'lines', 'note'),
    [
        (b'a\n\nb\n', ('a', '', 'b'), ''),
        (b'', (), 'Empty file.'),
        (b'a\0b', (), 'Not a text file (3 B). Download it instead.'),
        (b'\xff', (), 'Not a text file (1 B). Download it instead.'),
        (b'x' * 500_000, (), 'Too large to show (500.0 kB). Download it instead.'),
        (b'\n' * 9_000, (), 'Too long to show (9,000 lines). Download it instead.'),
    ],
)
def test_files_are_previewed_by_kind(content, lines, note):
    excerpt = preview(content)
    assert (excerpt.lines, excerpt.note) == (lines, note)


@pytest.mark.parametrize(
    ('count', 'text'), [(999, '999 B'), (4_100, '4.1 kB'), (2_300_000, '2.3 MB'), (3_000_000_000, '3.0 GB')]
)
def test_sizes_are_formatted(count, text):
    assert size(count) == text


@pytest.mark.parametrize(
    ('usage', 'tokens', 'cost', 'short'),
    [
        (Usage(input=1200, output=30, calls=1), '1,230', '$0', '1.2k in, 30 out'),
        (Usage(input=10, output=5, calls=1, dollars=0.0042), '15', '$0.0042', '10 in, 5 out · $0.0042'),
        (
            Usage(output=7, calls=1, source='estimated', dollars=1.27),
            '≈7',
            '$1.27',
            '≈7 out · $1.27',
        ),
        (Usage(calls=1, source='missing', unpriced=1), 'unknown', 'unknown', 'tokens unknown · cost unknown'),
        (
            Usage(input=9, calls=2, source='missing', unpriced=1, dollars=0.5),
            '9+',
            '$0.50+',
            '9+ tokens · $0.50+',
        ),
        (Usage(output=7, source='estimated'), '≈7', '$0', '≈7 out'),
        (Usage(input=1, calls=1, dollars=0.00001), '1', 'under $0.0001', '1 in, 0 out · under $0.0001'),
    ],
)
def test_estimates_are_marked_and_unknown_values_are_not_zero(usage, tokens, cost, short):
    assert (token_count(usage, usage.total), cost_text(usage), usage_summary(usage)) == (tokens, cost, short)


def test_the_table_has_agents_models_and_a_total_and_caveats_name_the_models():
    spent = {
        'a': Spending(models={'m': Usage(input=5, output=1, calls=1, cached=4)}),
        'b': Spending(models={'m': Usage(input=2, output=1, calls=1), 'n': Usage(calls=1, unpriced=1)}),
    }
    total = sum((item.total for item in spent.values()), Usage())
    view = replace(view_of('both'), spending=spent, usage=total)
    assert usage_notes(view) == ['The price of n is not known; it can be set in the configuration file.']
    columns, groups = usage_rows(view, str.upper)
    assert columns == ['', 'Input', 'Cached', 'Output', 'Calls', 'Cost']
    assert groups == [
        ('By agent', [['A', '5', '4', '1', '1', '$0'], ['B', '2', '0', '1', '2', 'unknown']]),
        ('By model', [['m', '7', '4', '2', '2', '$0'], ['n', '0', '0', '0', '1', 'unknown']]),
        ('Total', [['Run', '7', '4', '2', '3', 'unknown']]),
    ]

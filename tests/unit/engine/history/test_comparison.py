"""Comparisons of two runs: aligned by the states they passed through, region by region."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Event, Status, Transition
from engine.history import Comparison
from engine.history.comparison.alignment import align
from engine.history.comparison.comparison import RunStats, compare, count_run
from engine.history.comparison.json_diff import json_differences
from engine.journal import Fold
from engine.records import Edge, GuardResult, RunId, RunInfo, Shape, StatePath
from tests.support.charts.shapes import state
from ui.formatting.comparison import verdict_sentence

SHAPE = Shape(
    pattern='p',
    title='P',
    initial=StatePath('first'),
    states=(
        state('first'),
        state('beside', 'parallel'),
        *(state(f'beside.{side}', 'compound') for side in 'lr'),
        *(state(f'beside.{side}.{name}') for side in 'lr' for name in 'uvw'),
        state('last', 'final'),
    ),
    edges=(),
)
Word = tuple[str, str]
"""An event and the edge it takes."""


def steps(*words: Word, run: str = 'a') -> list[Transition]:
    """Return steps that take these edges; an edge to `beside` also enters its regions."""
    steps = []
    for seq, (event, edge) in enumerate(words, start=1):
        source, _, dest = edge.partition('>')
        entered = ('beside', 'beside.l', 'beside.r') if dest == 'beside' else (dest,)
        steps.append(
            Transition(
                run=RunId(run),
                seq=seq,
                time=float(seq),
                event=Event(name=event, at=StatePath(source)),
                edges=(Edge(source=StatePath(source), dest=dest),),
                entered=tuple(map(StatePath, entered)),
                active=leaves(dest),
            )
        )
    return steps


def leaves(dest: str) -> tuple[StatePath, ...]:
    """Return the active leaves once a step reaches `dest`; other regions are in their first state."""
    if not dest.startswith('beside'):
        return (StatePath(dest),)
    region = dest.split('.')[1:2]
    return tuple(StatePath(dest if [side] == region else f'beside.{side}.u') for side in 'lr')


def make_stats(history: Sequence[Transition], *, run: str = 'a', **facts: object) -> RunStats:
    info = RunInfo(id=RunId(run), pattern='p', title=run, **facts)
    return count_run(info, SHAPE, Fold(info.id, SHAPE).apply_all(history).view, history)


def compare_steps(a: Sequence[Transition], b: Sequence[Transition]) -> Comparison:
    return compare(make_stats(a), make_stats(b, run='b'), a, b)


ENTER, LEAVE = ('done', 'first>beside'), ('done', 'beside>last')
BACK = ('done', 'beside>beside')
INNER = st.sampled_from(
    [(event, f'{source}>{dest}') for event in ('done', 'failed') for source in 'uv' for dest in 'vw']
)
REGION = st.lists(INNER, max_size=6)
VISIT = st.tuples(REGION, REGION)


def inside(region: str, words: Sequence[Word]) -> list[Word]:
    return [(event, '>'.join(f'beside.{region}.{end}' for end in edge.split('>'))) for event, edge in words]


def interleave(draw: st.DrawFn, left: Sequence[Word], right: Sequence[Word]) -> list[Word]:
    """Interleave the steps of the two regions at random."""
    queues, merged = [inside('l', left), inside('r', right)], []
    while any(queues):
        full = [queue for queue in queues if queue]
        merged.append(draw(st.sampled_from(full)).pop(0))
    return merged


@st.composite
def draw_runs(draw: st.DrawFn, count: int = 1) -> list[list[Word]]:
    """Return `count` runs with the same steps per region, interleaved at random."""
    visits = draw(st.lists(VISIT, max_size=3))
    runs = []
    for _ in range(count):
        run = [ENTER]
        for number, visit in enumerate(visits):
            run += ([BACK] if number else []) + interleave(draw, *visit)
        runs.append([*run, LEAVE])
    return runs


def list_swapped(comparison: Comparison) -> list[tuple[int | None, int | None, str]]:
    return sorted(((row.b, row.a, row.region) for row in comparison.rows), key=str)


def list_pairs(comparison: Comparison) -> list[tuple[int | None, int | None, str]]:
    return sorted(((row.a, row.b, row.region) for row in comparison.rows), key=str)


@settings(max_examples=30)
@given(draw_runs())
def test_a_run_took_the_same_path_as_itself(runs):
    comparison = compare_steps(steps(*runs[0]), steps(*runs[0]))
    assert comparison.same_path
    assert sorted((row.a, row.b) for row in comparison.rows) == [
        (seq, seq) for seq in range(1, len(runs[0]) + 1)
    ]
    assert all(row.facets == () for row in comparison.rows)


@settings(max_examples=30)
@given(draw_runs(count=2))
def test_the_order_of_regions_makes_no_difference(pair):
    assert compare_steps(*(steps(*run) for run in pair)).same_path


@settings(max_examples=30)
@given(draw_runs(), draw_runs())
def test_comparing_is_symmetric(one, other):
    forth = compare_steps(steps(*one[0]), steps(*other[0]))
    comparison = compare_steps(steps(*other[0]), steps(*one[0]))
    assert list_pairs(forth) == list_swapped(comparison)
    assert {name: counts[::-1] for name, counts in forth.edges.items()} == comparison.edges
    assert (forth.divergence is None) == (comparison.divergence is None)


@settings(max_examples=30)
@given(draw_runs(), draw_runs())
def test_every_step_of_both_is_in_one_row(one, other):
    comparison = compare_steps(steps(*one[0]), steps(*other[0]))
    assert sorted(row.a for row in comparison.rows if row.a) == list(range(1, len(one[0]) + 1))
    assert sorted(row.b for row in comparison.rows if row.b) == list(range(1, len(other[0]) + 1))


@given(st.lists(st.sampled_from('abc'), max_size=20), st.lists(st.sampled_from('abc'), max_size=20))
def test_alignment_finds_the_longest_common_sequence(a, b):
    pairs = [(x, y) for x, y in align(a, b) if x is not None and y is not None]
    assert all(a[x] == b[y] for x, y in pairs)
    assert pairs == sorted(pairs)
    lengths = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for x, one in enumerate(a):
        for y, other in enumerate(b):
            longer = max(lengths[x][y + 1], lengths[x + 1][y])
            lengths[x + 1][y + 1] = lengths[x][y] + 1 if one == other else longer
    assert len(pairs) == lengths[-1][-1]


def test_an_extra_loop_is_in_one_run_only():
    comparison = compare_steps(steps(ENTER, LEAVE), steps(ENTER, BACK, LEAVE))
    assert [(row.kind, row.a, row.b) for row in comparison.rows] == [
        ('same', 1, 1),
        ('only-b', None, 2),
        ('same', 2, 3),
    ]
    assert comparison.edges['beside>beside'] == (0, 1)


def test_a_divergence_names_both_next_steps_and_the_guard():
    guard = GuardResult(name='is_good', value=True, wanted=True, source=StatePath('beside'), dest='last')
    a, b = steps(ENTER, LEAVE), steps(ENTER, BACK, LEAVE)
    a[1], b[1] = replace(a[1], guards=(guard,)), replace(b[1], guards=(replace(guard, value=False),))
    parted = compare_steps(a, b).divergence
    assert parted is not None
    assert (parted.row, parted.cause) == (1, 'guard')
    assert (parted.a, parted.b) == (a[1], b[1])
    assert [(item.name, item.a, item.b) for item in parted.guards] == [('is_good', True, False)]


def test_the_reason_names_a_guard_once_without_its_consequences():
    guard = GuardResult(name='is_good', value=True, wanted=True, source=StatePath('beside'), dest='last')
    twice, after = replace(guard, dest='first'), replace(guard, name='is_late')
    a, b = steps(ENTER, LEAVE), steps(ENTER, BACK, LEAVE)
    a[1] = replace(a[1], guards=(guard, twice))
    no = [replace(item, value=False) for item in (guard, twice)]
    b[1] = replace(b[1], guards=(*no, after))
    sentence = verdict_sentence(compare_steps(a, b))
    assert 'Good: yes in A, no in B: A went' in sentence
    a[1] = replace(a[1], guards=())
    assert 'Late: not checked in A, yes in B' in verdict_sentence(compare_steps(a, b))


def test_a_different_event_is_the_cause():
    parted = compare_steps(steps(ENTER, LEAVE), steps(ENTER, ('expired', 'beside>last'))).divergence
    assert parted is not None
    assert parted.cause == 'event' and (parted.a.event.name, parted.b.event.name) == ('done', 'expired')


def test_one_region_diverges_and_the_other_does_not():
    shared = inside('l', [('done', 'u>v')])
    a = steps(ENTER, *shared, *inside('r', [('done', 'u>v')]), LEAVE)
    b = steps(ENTER, *inside('r', [('done', 'u>w')]), *shared, LEAVE)
    comparison = compare_steps(a, b)
    assert [(row.kind, row.region) for row in comparison.rows if row.kind != 'same'] == [
        ('apart', 'beside.r')
    ]
    assert comparison.divergence is not None and comparison.divergence.region == 'beside.r'
    assert [(row.a, row.b) for row in comparison.rows if row.region == 'beside.l'] == [(2, 3)]


def test_an_unfinished_run_may_yet_do_the_same():
    behind = compare_steps(steps(ENTER, *inside('l', [('done', 'u>v')]), LEAVE), steps(ENTER))
    assert behind.divergence is None
    assert not behind.same_path
    assert [row.pending for row in behind.rows] == [False, True, True]


def test_an_unfinished_run_can_already_differ():
    comparison = compare_steps(steps(ENTER, LEAVE), steps(ENTER, BACK))
    assert comparison.divergence is not None
    assert [row.kind for row in comparison.rows] == ['same', 'apart']


def test_after_a_divergence_nothing_is_pending():
    comparison = compare_steps(steps(ENTER, LEAVE), steps(ENTER, BACK, BACK))
    assert [(row.kind, row.pending) for row in comparison.rows] == [
        ('same', False),
        ('apart', False),
        ('only-b', False),
    ]


def test_a_run_that_ends_earlier_diverges_there():
    def over(history, **facts):
        statistics = make_stats(history, **facts)
        return replace(statistics, view=replace(statistics.view, status=Status.CANCELLED))

    a, b = steps(ENTER, LEAVE), steps(ENTER)
    parted = compare(over(a), over(b, run='b'), a, b).divergence
    assert parted is not None
    assert (parted.cause, parted.a, parted.b) == ('end', a[1], None)


def test_steps_that_only_record_something_are_not_part_of_the_path():
    pause = Transition(
        run=RunId('a'), seq=2, time=2.0, event=Event(name='pause'), active=(StatePath('beside'),)
    )
    a, b = steps(ENTER, LEAVE), steps(ENTER, LEAVE)
    paused = [a[0], pause, replace(a[1], seq=3)]
    comparison = compare_steps(paused, b)
    assert comparison.same_path and verdict_sentence(comparison) == 'The runs took the same path.'
    twice = compare(make_stats(paused), make_stats(paused), paused, paused)
    assert verdict_sentence(twice) == 'The same run twice: 3 steps, all identical.'


def test_the_same_path_with_other_texts_and_tools_is_reported():
    def reply(text: str, call: str, model: str = 'm'):
        message = {
            'role': 'assistant',
            'parts': [{'kind': 'call', 'id': text, 'name': call, 'arguments': '{}'}],
        }
        data = {'text': text, 'message': message, 'model': model, 'usage': {'m': len(text)}}
        return [replace(step, event=replace(step.event, data=data)) for step in steps(ENTER)]

    assert compare_steps(reply('x', 'search'), reply('x', 'search')).rows[0].facets == ()
    assert compare_steps(reply('x', 'search'), reply('y', 'search')).rows[0].facets == ('text',)
    assert compare_steps(reply('x', 'search'), reply('x', 'fetch', 'n')).rows[0].facets == ('model', 'tools')


def test_call_ids_make_no_difference():
    def batch(number: str):
        data = {'results': [{'id': number, 'name': 'search', 'ok': True, 'text': 'found'}]}
        return [replace(step, event=replace(step.event, data=data)) for step in steps(ENTER)]

    comparison = compare_steps(batch('1'), batch('2'))
    assert comparison.rows[0].facets == ()
    assert comparison.tools == {'search': (1, 1)}


def test_forks_and_siblings_share_the_steps_before_the_fork():
    a, b = steps(ENTER, LEAVE), steps(ENTER, LEAVE)
    child = make_stats(b, run='b', parent=RunId('a'), parent_at=1)
    sibling = make_stats(b, run='c', parent=RunId('a'), parent_at=2)
    assert compare(make_stats(a), child, a, b).shared == 1
    assert compare(child, make_stats(a), b, a).shared == 1
    assert compare(sibling, child, a, b).shared == 1
    assert compare_steps(a, b).shared == 0


def test_ten_thousand_steps_are_aligned_exactly():
    """The algorithm bounds the cost, so there is no cut-off for any input."""
    a = ['u', 'v', 'w'] * 3_333
    b = ['u', 'w', 'v'] * 3_333
    pairs = [(x, y) for x, y in align(a, b) if x is not None and y is not None]
    assert len(pairs) == 2 * 3_333


def test_differences_of_documents_are_located():
    a = {'same': 1, 'text': 'x', 'list': [1, 2], 'gone': None, 'flag': True}
    b = {'same': 1, 'text': 'y', 'list': [1, 3, 4], 'new': {}, 'flag': 1}
    assert [
        (difference.path, difference.a, difference.b, difference.only)
        for difference in json_differences(a, b)
    ] == [
        ('/text', 'x', 'y', ''),
        ('/list/1', 2, 3, ''),
        ('/list/2', None, 4, 'b'),
        ('/gone', None, None, 'a'),
        ('/flag', True, 1, ''),
        ('/new', None, {}, 'b'),
    ]
    assert len(json_differences(list(range(500)), list(range(1, 501)), most=7)) == 7

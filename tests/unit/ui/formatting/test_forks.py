"""How a fork's pane describes its differences from its parent."""

from dataclasses import replace

from engine import Event, Status, Transition
from engine.history import CostEstimate
from engine.records import RunId, RunInfo
from ui.formatting.forks import SAME, cost_sentence, summarize_overrides

PARENT = RunInfo(
    id=RunId('a'),
    pattern='pipeline',
    title='A',
    status=Status.DONE,
    parameters={'task': 'tea', 'max_iterations': 3},
    models={'': 'scripted'},
)


def begin(*changes: dict) -> Transition:
    return Transition(
        run=RunId('b'), seq=8, time=1.0, event=Event(name='recover', data={'changes': list(changes)})
    )


def test_edits_parameters_models_and_tools_are_each_named_once() -> None:
    fork = replace(
        PARENT,
        parameters={'task': 'tea', 'max_iterations': 1},
        models={'': 'scripted', 'reviewer': 'ollama/qwen3'},
        options={'tools': {'researcher': ['notes']}, 'play': {'after': 'recorded'}},
    )
    edit = {'op': 'add', 'path': '/memory/max_iterations', 'value': 1}  # follows from the parameter
    change = {'op': 'replace', 'path': '/agents/analyzing/messages/1', 'value': {}}
    assert summarize_overrides(PARENT, fork, begin(edit, change)) == (
        'max iterations = 1, agents got different messages, Reviewer: ollama/qwen3, '
        'Researcher: different tools, replayed'
    )


def test_a_fork_without_changes_says_so() -> None:
    assert summarize_overrides(PARENT, replace(PARENT, id=RunId('b')), begin()) == SAME
    assert summarize_overrides(None, replace(PARENT, id=RunId('b')), None) == SAME


def test_a_changed_effort_is_named() -> None:
    parent = replace(PARENT, options={'effort': {'': 'low', 'reviewer': 'high'}})
    fork = replace(parent, id=RunId('b'), options={'effort': {'': 'max'}})
    assert summarize_overrides(parent, fork, None) == 'all: effort max, Reviewer: default effort'


def test_free_forks_show_their_duration_if_it_is_noticeable() -> None:
    sentences = [
        cost_sentence([CostEstimate(calls=0, free=True, seconds=taken)])[1] for taken in (None, 0.02, 75.0)
    ]
    assert [item.removeprefix('Free: no provider is called.').strip() for item in sentences] == [
        '',
        'It takes less than a second.',
        'It takes about 1:15.',
    ]


def test_a_replay_that_may_end_early_is_not_said_to_cost_nothing():
    free, sentence = cost_sentence([CostEstimate(calls=0, tokens=0, dollars=0.0, basis='parent')])
    assert not free and '$0' not in sentence
    assert sentence.startswith('Free while the recording lasts.')

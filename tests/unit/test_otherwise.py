"""What a fork's pane says of how it differs from the run that it came from."""

from dataclasses import replace

from engine import Event, RunId, RunInfo, Status, Transition
from ui.forks.otherwise import SAME, otherwise

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


def test_edits_parameters_models_and_tools_are_named_once() -> None:
    fork = replace(
        PARENT,
        parameters={'task': 'tea', 'max_iterations': 1},
        models={'': 'scripted', 'reviewer': 'ollama/qwen3'},
        options={'tools': {'researcher': ['notes']}, 'play': {'after': 'recorded'}},
    )
    edit = {'op': 'add', 'path': '/memory/max_iterations', 'value': 1}  # follows from the parameter
    told = {'op': 'replace', 'path': '/agents/analyzing/messages/1', 'value': {}}
    assert otherwise(PARENT, fork, begin(edit, told)) == (
        'max iterations = 1, agents were told something else, Reviewer: ollama/qwen3, '
        'Researcher: other tools, played from the record'
    )


def test_a_fork_without_changes_is_as_the_original() -> None:
    assert otherwise(PARENT, replace(PARENT, id=RunId('b')), begin()) == SAME
    assert otherwise(None, replace(PARENT, id=RunId('b')), None) == SAME

"""Selecting runs in a list: ranges, and that hidden runs are not selected."""

from engine.records import RunId, RunInfo
from ui.pages.shared.run_list.selection import Selection


def make_runs(*names: str) -> list[RunInfo]:
    return [RunInfo(id=RunId(name), pattern='p', title=name) for name in names]


def join_ticked(selection: Selection) -> str:
    return ''.join(info.id for info in selection.runs)


def selection_of(*names: str) -> tuple[Selection, list[str]]:
    told: list[str] = []
    selection = Selection(lambda: told.append(join_ticked(selection)))
    selection.show(make_runs(*names))
    return selection, told


def test_shift_selects_a_range_in_both_directions() -> None:
    made, told = selection_of(*'abcdef')
    made.tick(RunId('e'), True)
    made.tick(RunId('c'), True, reach=True)
    made.tick(RunId('f'), True, reach=True)
    made.tick(RunId('d'), False)
    made.tick(RunId('e'), False, reach=True)
    assert told == ['e', 'cde', 'cdef', 'cef', 'cf']
    assert RunId('c') in made and RunId('e') not in made


def test_shift_without_a_previous_selection_selects_one_run() -> None:
    made, _ = selection_of(*'abc')
    made.tick(RunId('c'), True, reach=True)
    assert join_ticked(made) == 'c'


def test_a_hidden_run_is_not_selected() -> None:
    made, told = selection_of(*'abc')
    made.all()
    made.show(make_runs('c', 'x', 'a'))
    assert join_ticked(made) == 'ca'
    made.tick(RunId('b'), True)
    assert join_ticked(made) == 'ca'
    made.show(make_runs('a', 'c'))
    assert told == ['abc', 'ca']  # no update without a change
    made.clear()
    made.tick(RunId('a'), True, reach=True)
    assert told[-1] == 'a'

"""Selecting runs in a list: ranges, and that hidden runs are not selected."""

from engine.records import RunId, RunInfo
from ui.web.pages.shared.run_list.selection import Selection


def make_runs(*names: str) -> list[RunInfo]:
    return [RunInfo(id=RunId(name), pattern='p', title=name) for name in names]


def join_ticked(selection: Selection) -> str:
    return ''.join(info.id for info in selection.runs)


def selection_of(*names: str) -> tuple[Selection, list[str]]:
    updates: list[str] = []
    selection = Selection(lambda: updates.append(join_ticked(selection)))
    selection.show(make_runs(*names))
    return selection, updates


def test_shift_selects_a_range_in_both_directions() -> None:
    selection, updates = selection_of(*'abcdef')
    selection.tick(RunId('e'), True)
    selection.tick(RunId('c'), True, reach=True)
    selection.tick(RunId('f'), True, reach=True)
    selection.tick(RunId('d'), False)
    selection.tick(RunId('e'), False, reach=True)
    assert updates == ['e', 'cde', 'cdef', 'cef', 'cf']
    assert RunId('c') in selection and RunId('e') not in selection


def test_shift_without_a_previous_selection_selects_one_run() -> None:
    selection, _ = selection_of(*'abc')
    selection.tick(RunId('c'), True, reach=True)
    assert join_ticked(selection) == 'c'


def test_a_hidden_run_is_not_selected() -> None:
    selection, updates = selection_of(*'abc')
    selection.all()
    selection.show(make_runs('c', 'x', 'a'))
    assert join_ticked(selection) == 'ca'
    selection.tick(RunId('b'), True)
    assert join_ticked(selection) == 'ca'
    selection.show(make_runs('a', 'c'))
    assert updates == ['abc', 'ca']  # no update without a change
    selection.clear()
    selection.tick(RunId('a'), True, reach=True)
    assert updates[-1] == 'a'

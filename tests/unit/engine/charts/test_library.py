"""The library of charts: files, versions, who saved what, and what a catalog makes of a wrong file."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine import Catalog, EngineError
from engine.charts.library import ChartLibrary
from engine.errors import EntryChanged, InvalidInput, UnknownPattern, UnknownVersion
from engine.records import RunId, RunInfo
from tests.support.charts.files import chart_text
from tests.support.harness import Lone

ONE, TWO, WRONG = chart_text('first'), chart_text('second'), chart_text('first', start='nowhere')


def library(folder: Path, *folders: Path) -> ChartLibrary:
    return ChartLibrary(Catalog(), folder, folders)


def initial(charts: ChartLibrary, name: str = 'ask', version: str = '') -> str:
    charts.show(charts.look())
    return charts.catalog.pattern(name, version).initial


def write(path: Path, text: str) -> None:
    """Write a file as an editor does, a moment later than before."""
    path.parent.mkdir(exist_ok=True)
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, 'utf-8')
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def test_each_save_is_a_version_with_its_author_and_note(tmp_path: Path) -> None:
    charts = library(tmp_path)
    one = charts.save('ask', ONE, base='', author='ada')
    two = charts.save('ask', TWO, base=one.version, author='ben', note='a better name')
    assert (one.number, two.number, two.current) == (1, 2, True)
    assert [(each.author, each.note, each.current) for each in charts.files.versions('ask')] == [
        ('ada', '', False), ('ben', 'a better name', True),
    ]  # fmt: skip
    assert initial(charts) == 'second' and initial(charts, version=one.version) == 'first'
    assert charts.save('ask', TWO, base=two.version).number == 2  # The same text is the same version.
    again = library(tmp_path)
    assert initial(again) == 'second' and initial(again, version=one.version) == 'first'


def test_of_two_editors_the_second_is_told(tmp_path: Path) -> None:
    charts = library(tmp_path)
    base = charts.save('ask', ONE, base='').version
    charts.save('ask', TWO, base=base)
    for outdated in (base, ''):
        with pytest.raises(EntryChanged, match="chart 'ask' has been changed by somebody else"):
            charts.save('ask', chart_text('third'), base=outdated)
    assert charts.read('ask').text == TWO and len(charts.files.versions('ask')) == 2


def test_a_repeated_save_changes_nothing(tmp_path: Path) -> None:
    charts = library(tmp_path)
    base = charts.save('ask', ONE, base='').version
    first = charts.save('ask', TWO, base=base, note='once')
    assert charts.save('ask', TWO, base=base, note='twice') == first


def test_of_many_writers_at_once_one_wins(tmp_path: Path) -> None:
    base = library(tmp_path).save('ask', ONE, base='').version

    def save(number: int) -> bool:
        try:
            library(tmp_path).save('ask', chart_text(f'state{number}'), base=base)
        except EntryChanged:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(save, range(24))) == 1
    assert [each.number for each in library(tmp_path).files.versions('ask')] == [1, 2]


def test_a_file_that_was_edited_elsewhere_is_a_version_once_it_is_noticed(tmp_path: Path) -> None:
    charts = library(tmp_path)
    base = charts.save('ask', ONE, base='').version
    write(tmp_path / 'ask.chart.yaml', TWO)
    with pytest.raises(EntryChanged):
        charts.save('ask', chart_text('third'), base=base)
    assert initial(charts) == 'second'
    assert [each.number for each in charts.files.versions('ask')] == [1, 2]
    assert charts.look() == []  # until it changes again


def test_while_a_file_is_wrong_its_last_good_version_is_used(tmp_path: Path) -> None:
    charts = library(tmp_path)
    charts.save('ask', ONE, base='')
    charts.show(charts.look())
    write(tmp_path / 'ask.chart.yaml', WRONG)
    for reader in (charts, library(tmp_path)):
        assert initial(reader) == 'first'
        (fault,) = reader.catalog.faults
        assert (fault.path, fault.line) == (str(tmp_path / 'ask.chart.yaml'), 7)
        assert "there is no state 'nowhere'" in fault.problem
        (info,) = reader.charts()
        assert info.faults == (fault,) and info.version and info.version.number == 1
    wrong = charts.read('ask')
    assert wrong.saved is None
    assert charts.save('ask', TWO, base=wrong.version).number == 3  # What was wrong is kept as well.
    assert initial(charts) == 'second' and charts.catalog.faults == []


@pytest.mark.parametrize(
    ('content', 'problem'),
    [(b'a' * 300_000, 'more than 256 KB'), (b'one\ntwo\xff', 'not UTF-8 text')],
    ids=['long', 'binary'],
)
def test_a_file_that_is_no_text_is_a_fault(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / 'ask.chart.yaml').write_bytes(content)
    (fault,) = library(tmp_path).catalog.faults
    assert problem in fault.problem and fault.line == content.count(b'\n') + 1


def test_a_text_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match='not UTF-8 text'):
        library(tmp_path).save('ask', f'{ONE}# \ud800', base='')
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_version_is_made_current_again(tmp_path: Path) -> None:
    charts = library(tmp_path)
    one = charts.save('ask', ONE, base='')
    two = charts.save('ask', TWO, base=one.version)
    restored = charts.save('ask', charts.read('ask', one.version).text, base=None)
    assert (restored.number, restored.current, initial(charts)) == (1, True, 'first')
    assert initial(charts, version=two.version) == 'second'


def test_a_removed_chart_is_kept_as_versions(tmp_path: Path) -> None:
    charts = library(tmp_path)
    one = charts.save('ask', ONE, base='')
    assert initial(charts) == 'first'
    charts.remove('ask')
    with pytest.raises(UnknownPattern):
        initial(charts)
    assert initial(charts, version=one.version) == 'first'
    (info,) = charts.charts()
    assert info.removed and info.version is None
    with pytest.raises(UnknownPattern):
        charts.remove('ask')
    assert charts.save('ask', ONE, base='').number == 1 and initial(charts) == 'first'


def test_a_version_that_is_gone_or_was_changed_is_not_used(tmp_path: Path) -> None:
    charts = library(tmp_path)
    one = charts.save('ask', ONE, base='')
    two = charts.save('ask', TWO, base=one.version)
    (file,) = (tmp_path / 'versions' / 'ask').glob('1-*.chart.yaml')
    file.write_text('other', 'utf-8')
    reader = library(tmp_path)
    info = RunInfo(id=RunId('r'), pattern='ask', version=one.version, title='')
    for call in (lambda: reader.catalog.pattern('ask', one.version), lambda: reader.catalog.pattern_of(info)):
        with pytest.raises(
            UnknownVersion, match=f'{one.version} of .ask. is gone; today it is {two.version}'
        ):
            call()
    assert reader.catalog.find_of(info) is None


@pytest.mark.parametrize('name', ['../ask', 'Ask', 'a/b', '', 'a' * 61, 'ask\n', '.ask', '-ask', 'ask.chart'])
def test_a_name_is_one_of_a_file_in_the_folder(tmp_path: Path, name: str) -> None:
    charts = library(tmp_path / 'charts')
    for call in (
        lambda: charts.save(name, ONE, base=''),
        lambda: charts.read(name),
        lambda: charts.read(name, '0' * 12),
        lambda: charts.remove(name),
    ):
        with pytest.raises(InvalidInput, match='must be lower-case letters'):
            call()
    assert list(tmp_path.iterdir()) == []


def test_a_chart_cannot_take_the_name_of_another_pattern(tmp_path: Path) -> None:
    own = tmp_path / 'own'
    write(own / 'theirs.chart.yaml', chart_text('first', name='theirs'))
    write(tmp_path / 'lone.chart.yaml', chart_text('first', name='lone'))
    catalog = Catalog(patterns={'lone': Lone})
    charts = ChartLibrary(catalog, tmp_path, [own])
    assert catalog.pattern('lone') is Lone
    assert 'already has a pattern of this name' in catalog.faults[0].problem
    assert initial(charts, 'theirs') == 'first'
    with pytest.raises(InvalidInput, match=r'its file is .*own/theirs\.chart\.yaml: change it there'):
        charts.save('theirs', chart_text('first', name='theirs'), base='')


def test_a_program_without_a_folder_keeps_no_charts(tmp_path: Path) -> None:
    write(tmp_path / 'ask.chart.yaml', ONE)
    charts = ChartLibrary(Catalog(), None, [tmp_path])
    assert initial(charts) == 'first' and [info.name for info in charts.charts()] == ['ask']
    with pytest.raises(EngineError, match='keeps no charts'):
        charts.save('other', chart_text('first', name='other'), base='')

"""Datasets: cases from tables, damaged ones too, and tables from cases."""

import codecs
import csv
import io
import json
import tracemalloc
from dataclasses import replace
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from engine import InvalidInput, Pattern, Status
from engine.operations.experiments.datasets import (
    MAX_CASES,
    Case,
    ImportedCases,
    case_of,
    escape_formula,
    export_csv,
    export_json_lines,
    import_cases,
)
from engine.operations.experiments.datasets.text import MAX_LINE
from engine.records import RunId, RunInfo
from engine.records.launch import check_files


class Sample(Pattern):
    """Takes parameters of every type."""

    name = 'sample of a dataset'
    states = ['start', {'name': 'end', 'final': True}]
    transitions = [{'trigger': 'go', 'source': 'start', 'dest': 'end'}]
    initial = 'start'

    class Parameters(BaseModel):
        task: str
        rounds: int = Field(default=1, ge=1, le=9)
        share: float | None = None
        loud: bool = False
        roles: list[str] = []
        options: dict[str, Any] = {}


def read(content: str | bytes, **more: Any) -> ImportedCases:
    data = content.encode() if isinstance(content, str) else content
    return import_cases(io.BytesIO(data), **{'pattern': Sample, **more})


def parameters(imported: ImportedCases) -> list[dict[str, Any]]:
    return [dict(case.parameters) for case in imported.require()]


def problems(imported: ImportedCases) -> list[str]:
    return [f'{problem.place}: {problem.text}' for problem in imported.problems]


UNKNOWN = 'the pattern has no parameter {!r}; it has: task, rounds, share, loud, roles, options'
UMLAUTS = [{'task': 'Größe prüfen, schön und fließend'}, {'task': 'Übung'}]
TEXT = 'task\n"Größe prüfen, schön und fließend"\nÜbung\n'


def test_a_table_becomes_cases_with_the_types_of_their_parameters() -> None:
    table = (
        'id,task,Rounds,share,loud,roles,options,expectation.total,expectation.currency,tags,split\n'
        'first,"Add, then tell",3,0.5,yes,"[""a"", ""b""]","{""x"": 1}",7,EUR,"sums, easy",test\n'
        ',42,,,,,,,,,\n'
    )
    imported = read(table)
    assert imported.require() == (
        Case(
            id='first',
            parameters={
                'task': 'Add, then tell',
                'rounds': 3,
                'share': 0.5,
                'loud': True,
                'roles': ['a', 'b'],
                'options': {'x': 1},
            },
            expectation={'total': '7', 'currency': 'EUR'},
            tags=('sums', 'easy'),
            split='test',
        ),
        Case(id='2', parameters={'task': '42'}),
    )
    assert (imported.encoding, imported.delimiter) == ('utf-8', ',')
    assert imported.columns['Rounds'] == 'parameters.rounds'


@pytest.mark.parametrize(
    'data',
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode('latin-1'),
        TEXT.encode('utf-16'),
        TEXT.encode('utf-16-le'),
        TEXT.replace('\n', '\r\n').encode('cp1252'),
        TEXT.replace('\n', '\r').encode(),
        TEXT.replace('fließend"\n', 'fließend"\r\n').encode(),
        f'sep=;\n{TEXT}'.encode(),
        f'\n\n{TEXT}\n\n'.encode(),
    ],
    ids=[
        'UTF-8',
        'BOM',
        'Latin-1',
        'UTF-16',
        'no BOM',
        'Windows',
        'old Mac',
        'mixed ends',
        'sep',
        'blank rows',
    ],
)
def test_a_file_is_read_whatever_wrote_it(data: bytes) -> None:
    assert parameters(read(data)) == UMLAUTS


def test_what_is_not_utf_8_is_noticed_late_in_a_file_too() -> None:
    rows = ''.join(f'number {number}\n' for number in range(9_000))
    assert len(rows) > 100_000
    assert parameters(read(f'task\n{rows}Übergröße für Bögen\n'.encode('latin-1')))[-1] == {
        'task': 'Übergröße für Bögen'
    }


@pytest.mark.parametrize('delimiter', [';', '\t', '|'])
def test_the_delimiter_is_what_splits_the_first_rows_alike(delimiter: str) -> None:
    table = f'task{delimiter}rounds\nOne, two{delimiter}3\nthree, four, five{delimiter}4\n'
    imported = read(table)
    assert imported.delimiter == delimiter
    assert parameters(imported) == [
        {'task': 'One, two', 'rounds': 3},
        {'task': 'three, four, five', 'rounds': 4},
    ]


def test_a_decimal_comma_is_read_where_semicolons_separate_cells() -> None:
    assert parameters(read('task;share\na;1,5\n')) == [{'task': 'a', 'share': 1.5}]


@pytest.mark.parametrize(
    ('table', 'expected'),
    [
        ('', ['file: is empty']),
        ('\n \n', ['file: is empty']),
        ('task,rounds\n', ['file: has a header, and no rows below it']),
        (
            'task,rounds\na,1\nb\nc,2,3\n',
            [
                'row 3: has 1 of 2 cells',
                'row 4: has 3 cells for 2 columns: put quotation marks around a cell that holds the'
                ' delimiter',
            ],
        ),
        ('task,rounds,task\na,1,b\n', ['row 1, task: names columns 1 and 3: each needs a name of its own']),
        ('task,\na,1\n', ['row 2: has something in column 2, which the header does not name']),
        (
            'text,rounds\na,1\n',
            [f'row 1, text: {UNKNOWN.format("text")}'],
        ),
        (
            'task,rounds\na,many\nb,2.5\nc,99\n',
            [
                'row 2, rounds: must be a whole number such as 12, not "many"',
                'row 3, rounds: must be a whole number such as 12, not "2.5"',
                'row 4, rounds: Input should be less than or equal to 9',
            ],
        ),
        ('task,share\na,"1,5"\n', ['row 2, share: must be a number such as 1.5, not "1,5"']),
        ('task,share\na,nan\n', ['row 2, share: must be a number such as 1.5, not "nan"']),
        ('task,loud\na,maybe\n', ['row 2, loud: must be true or false, not "maybe"']),
        ('task,roles\na,"x, y"\n', ['row 2, roles: must be a JSON list such as ["a", "b"], not "x, y"']),
        ('task,options\na,{x\n', ['row 2, options: must be JSON: key must be a string at character 2']),
        ('task:json\n{a\n', ['row 2, task:json: must be JSON: key must be a string at character 2']),
        ('task\nok\na\0b\n', ['row 3, task: has a NUL character, which is no text']),
        ('id,task\nx,a\nx,b\n', ["row 3, id: 'x' is the id of row 2, too"]),
        ('task\n"a\nb\n', ['row 2: a cell begins with a quotation mark and does not end with one']),
        (
            'task\n"a"b\nc\n',
            [
                'row 2: text follows a closing quotation mark:'
                ' write each quotation mark inside a quoted cell twice'
            ],
        ),
        (
            f'task\n"{"x" * 140_000}"\n',
            [
                'row 2: a cell has more than 131,072 characters, or begins with a quotation mark and does not'
                ' end with one; use JSON lines for longer texts'
            ],
        ),
        (
            'expectation,expectation.total\na,1\n',
            ['row 2, expectation: is given whole, and in parts: choose one'],
        ),
        ('[\n{"task": "a"}]', ['row 1: begins a JSON list: write one object in each line, without commas']),
        (
            '{"task": "a"}\n{"task"\n"b"\n{"task": 3}\n{"other": 1}\n{"task": "ok"}\n',
            [
                'row 2: must be JSON, and all of it in one line: EOF while parsing an object at character 7',
                'row 3: must be a JSON object, such as {"task": "..."}',
                'row 4, task: Input should be a valid string',
                f'row 5, other: {UNKNOWN.format("other")}',
            ],
        ),
        ('{"task": "a\\u0000b"}\n', ['row 1, task: has a NUL character, which is no text']),
        ('{"tags": [1]}\n', ['row 1, tags: must be tags separated by commas, or a JSON list of texts']),
        (
            '{"parameters": [1]}\n',
            ['row 1, parameters: must be a JSON object: values by the names of parameters'],
        ),
        (
            b'task\n' + 2_000 * 'Größe für Übungen\n'.encode() + b'caf\xe9\n',
            ['row 2002, task: has bytes that are no text in the encoding of the file: replace them'],
        ),
        (bytes(range(256)) * 20, ['file: cannot be read: it is not text']),
    ],
)
def test_a_damaged_table_is_refused_row_by_row(table: str | bytes, expected: list[str]) -> None:
    assert problems(read(table)) == expected


def test_rows_without_a_problem_are_still_cases() -> None:
    imported = read('task,rounds\na,1\nb,no\nc,3\n')
    assert [case.parameters['task'] for case in imported.cases] == ['a', 'c']
    with pytest.raises(InvalidInput, match='row 3, rounds: must be a whole number'):
        imported.require()


def test_problems_are_listed_up_to_a_limit() -> None:
    imported = read('task,rounds\n' + 'a,no\n' * 500)
    assert len(imported.problems) == 100


def test_columns_are_mapped_and_left_out() -> None:
    table = 'question,answer,note\nWhy?,Because,x\n'
    columns = {'question': 'parameters.task', 'answer': 'expectation', 'note': ''}
    assert read(table, columns=columns).require() == (
        Case(id='1', parameters={'task': 'Why?'}, expectation='Because'),
    )
    wrong = read(table, columns={**columns, 'note': 'remark', 'nothing': 'id'})
    assert problems(wrong) == [
        'row 1, nothing: there is no such column; there are: question, answer, note',
        "row 1, note: cannot be read as 'remark'; as: id, split, tags, source, expectation, parameters,"
        ' files, expectation.NAME, files.PATH or parameters.NAME',
    ]
    twice = read(table, columns={**columns, 'note': 'parameters.task'})
    assert problems(twice) == ["row 1, note: is read as parameters.task, and so is 'question'"]


def test_parts_of_nested_json_lines_are_mapped() -> None:
    lines = '{"in": {"q": {"text": "Why?"}, "n": 2}, "out": {"a": [1]}}\n{"in": {"q": 1}, "out": null}\n'
    columns = {'in.q.text': 'parameters.task', 'in.n': 'parameters.rounds', 'out': 'expectation'}
    assert read(lines, columns=columns).require() == (
        Case(id='1', parameters={'task': 'Why?', 'rounds': 2}, expectation={'a': [1]}),
        Case(id='2'),
    )


def test_a_preview_reads_no_more_than_it_shows() -> None:
    file = io.BytesIO(b'task\n' + b'a\n' * 5_000_000)
    assert len(import_cases(file, pattern=Sample, preview=5).require()) == 5
    assert not file.closed


def test_without_a_pattern_cells_are_text_and_json_stays_what_it_is() -> None:
    assert parameters(read('n,x:json\n007,007\n', pattern=None, columns={'x:json': ''})) == [{'n': '007'}]
    assert parameters(read('{"n": 7, "x": null}\n', pattern=None)) == [{'n': 7}]


def test_an_unknown_delimiter_is_refused() -> None:
    with pytest.raises(InvalidInput, match='delimiter'):
        read('task\n', delimiter='##')


class Huge(io.RawIOBase):
    """A file made as it is read: a header, a line of 100 MB, and more rows than a dataset may have."""

    def __init__(self) -> None:
        self.at, self.parts = 0, [b'task\n', b'x' * 1_000_000, b'\nrow\n', b'row\n' * 250_000]
        self.counts = [1, 100, 1, 40]
        self.size = sum(len(part) * count for part, count in zip(self.parts, self.counts, strict=True))

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def tell(self) -> int:
        return self.at

    def readinto(self, buffer: Any) -> int:
        start = 0
        for part, count in zip(self.parts, self.counts, strict=True):
            if self.at < start + len(part) * count:
                offset = (self.at - start) % len(part)
                piece = part[offset : offset + len(buffer)]
                buffer[: len(piece)] = piece
                self.at += len(piece)
                return len(piece)
            start += len(part) * count
        return 0


def test_a_huge_file_takes_little_memory() -> None:
    file: BinaryIO = io.BufferedReader(Huge())  # type: ignore[assignment]
    tracemalloc.start()
    imported = import_cases(file, pattern=Sample)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problems(imported) == [
        f'row 2: is longer than {MAX_LINE:,} characters, and was skipped',
        f'file: has more than {MAX_CASES:,} cases: split it',
    ]
    assert len(imported.cases) == MAX_CASES
    assert peak < 30e6


FORMULAS = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', "'=1", "''@x", '\uff1d1']


def test_no_exported_cell_begins_like_a_formula() -> None:
    cases = [
        Case(id=text, parameters={text: text, 'n': -5}, expectation=text, split=text, tags=(text.strip(),))
        for text in FORMULAS
    ]
    text = ''.join(export_csv(cases)).removeprefix('\ufeff')
    cells = [cell for row in csv.reader(io.StringIO(text, newline='')) for cell in row if cell]
    assert len(cells) > 50
    assert [cell for cell in cells if cell[0] in '=+-@\t\r\n\uff1d\uff0b\uff0d\uff20'] == []


TEXTS = st.text(st.characters(codec='utf-8', exclude_characters='\0\ufffd'), max_size=20) | st.sampled_from(
    FORMULAS
)
NAMES = st.text('ab=:.', min_size=1, max_size=4) | st.sampled_from(['id', 'tags', 'x:json', 'parameters.a'])
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    TEXTS | NUMBERS | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
PATHS = st.sampled_from(['a.txt', 'b=1.csv', 'docs/x:json', 'docs/y.z/c', '.env'])
CONTENTS = TEXTS | st.binary(max_size=9)
LABELS = TEXTS.map(lambda text: text.replace(',', '').strip()).filter(bool)
CASES = st.builds(
    Case,
    id=LABELS,
    parameters=st.dictionaries(NAMES, VALUES, max_size=4),
    files=st.dictionaries(PATHS, CONTENTS, max_size=3).map(check_files),
    expectation=VALUES,
    tags=st.lists(LABELS, max_size=3, unique=True).map(tuple),
    split=LABELS | st.just(''),
    source=(LABELS | st.just('')).map(RunId),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(CASES, min_size=1, max_size=5, unique_by=lambda case: case.id))
def test_exported_cases_are_read_again_as_they_were(cases: list[Case]) -> None:
    for export in (export_csv, export_json_lines):
        data = io.BytesIO(''.join(export(cases)).encode())
        assert list(import_cases(data).require()) == cases


def test_files_are_columns_of_a_table_and_objects_in_json_lines() -> None:
    table = (
        'task,files.src/a.py,files.b.bin:json,files\nx,print(1),"{""base64"": ""AP8=""}","{""c"": ""d""}"\n'
    )
    lines = '{"task": "x", "files": {"src/a.py": "print(1)", "b.bin": {"base64": "AP8="}, "c": "d"}}\n'
    files = {'src/a.py': 'print(1)', 'b.bin': {'base64': 'AP8='}, 'c': 'd'}
    for text in (table, lines):
        assert read(text).require() == (Case(id='1', parameters={'task': 'x'}, files=files),)
    wrong = 'task,files.../a,files.b:json,Data\nx,one,7,"{""/c"": """"}"\n'
    assert problems(read(wrong, columns={'Data': 'files'})) == [
        'row 2, files.../a: must not have . or .. or an empty name in it',
        'row 2, Data: must not begin with a slash: it is relative to the folder',
        'row 2, files.b:json: must be text, or bytes as {"base64": …}',
    ]
    assert problems(read('{"files": ["a"]}\n')) == [
        'row 1, files: must be a JSON object: contents by the paths of files',
    ]


def test_a_text_too_long_for_a_table_is_exported_as_json_lines() -> None:
    case = Case(id='long', parameters={'task': 'x' * 200_000})
    with pytest.raises(InvalidInput, match=r'cases\.long\.task: is longer than 131,072'):
        list(export_csv([case]))
    assert read(''.join(export_json_lines([case]))).require() == (case,)


def test_a_run_becomes_a_case_with_what_it_should_have_answered() -> None:
    info = RunInfo(id=RunId('r1'), pattern='sample', title='T', parameters={'task': 'a'}, status=Status.DONE)
    expected = Case(id='r1', parameters={'task': 'a'}, expectation='b', source=RunId('r1'))
    assert case_of(info, 'b') == expected
    assert case_of(info, 'c', 'b') == expected
    assert case_of(info, 'b', files={'a.txt': 'a'}) == replace(expected, files={'a.txt': 'a'})
    assert case_of(replace(info, status=Status.FAILED), 'c').expectation is None
    assert case_of(replace(info, status=Status.FAILED), expectation='b') == expected


def test_cells_are_escaped_only_where_it_matters() -> None:
    assert [escape_formula(cell) for cell in ('', 'a=1', "it's", '=1', "'=1")] == [
        '',
        'a=1',
        "it's",
        "'=1",
        "''=1",
    ]
    assert json.loads(next(export_json_lines([Case(id='=1')])))['id'] == '=1'

"""The catalog: a file with an error is reported with its line, and the others load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine import Catalog, PatternError
from engine.errors import UnknownPattern
from tests.support.harness import Lone

GOOD = """
from __future__ import annotations
from dataclasses import dataclass
from pydantic import BaseModel
from engine import Memory, Pattern

class Inner(BaseModel):
    text: str = ''

@dataclass
class Kept:
    inner: Inner

class {name}(Pattern):
    class Parameters(BaseModel):
        inner: Inner = Inner()
    initial = 'a'
    states = ['a', {{'name': 'b', 'final': True}}]
    transitions = [['go', 'a', 'b']]
"""


def load(folder: Path, **files: str) -> Catalog:
    for name, text in files.items():
        (folder / f'{name}.py').write_text(text, 'utf-8')
    return Catalog.load([folder])


def test_everything_included_loads_without_a_fault() -> None:
    catalog = Catalog.load()
    assert catalog.faults == []
    assert {'pipeline'} <= set(catalog.patterns) and {'notes', 'calculator'} <= set(catalog.tools)
    assert 'scripted' in catalog.models


@pytest.mark.parametrize(
    ('text', 'line', 'says'),
    [
        ('x = 1\ndef broken(:\n', 2, 'SyntaxError'),
        ('\n\nimport nothing_of_this_name\n', 3, 'ModuleNotFoundError'),
        (GOOD.format(name='Bad').replace("'a', 'b']]", "'a', 'c']]"), 14, "pattern 'bad', .* no state 'c'"),
        (f'\n{GOOD.format(name="Pipeline")}', 0, "'pipeline'.* already has a pattern of this name"),
        ('import sys\nsys.exit(3)\n', 2, 'SystemExit: 3'),
        ('raise KeyError("x")\n', 1, 'KeyError'),
        (
            'from engine import tool\n@tool()\nasync def notes(context, text: str) -> str:\n    return ""\n',
            0,
            "there is already a tool 'notes'",
        ),
        (
            'from engine import tool\n@tool()\nasync def bare(context, x): return x\n',
            2,
            "parameter 'x' needs a type",
        ),
    ],
)
def test_a_faulty_file_is_reported_and_the_others_load(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    loaded = load(tmp_path, a_bad=text, b_good=GOOD.format(name='Good'))
    (fault,) = loaded.faults
    assert fault.path == str(tmp_path / 'a_bad.py')
    assert fault.line == line
    assert re.search(says, fault.problem), fault.problem
    assert 'good' in loaded.patterns


def test_files_of_the_same_name_in_two_folders_both_load(tmp_path: Path) -> None:
    for name in ('one', 'two'):
        (tmp_path / name).mkdir()
        (tmp_path / name / 'same.py').write_text(GOOD.format(name=name.title()), 'utf-8')
    catalog = Catalog.load([tmp_path / 'one', tmp_path / 'two'])
    assert catalog.faults == [] and {'one', 'two'} <= set(catalog.patterns)


def test_a_missing_folder_is_a_fault(tmp_path: Path) -> None:
    assert Catalog.load([tmp_path / 'gone']).faults[0].problem == 'there is no such folder'


def test_names_are_unique_and_unknown_ones_list_the_known() -> None:
    catalog = Catalog()
    catalog.add(Lone)
    catalog.add(Lone)
    with pytest.raises(PatternError, match='already has a pattern of this name'):
        catalog.add(type('Lone', (Lone,), {}))
    with pytest.raises(UnknownPattern, match="no pattern 'x'; available: lone"):
        catalog.pattern('x')


def test_asking_for_a_broken_pattern_names_its_fault(tmp_path: Path) -> None:
    loaded = load(tmp_path, mine='import nothing_of_that_name\n')
    with pytest.raises(UnknownPattern, match=r"no pattern 'mine'.*mine\.py, line 1: .*nothing_of_that_name"):
        loaded.pattern('mine')


def test_a_pattern_is_found_by_its_alias() -> None:
    catalog = Catalog.load()
    assert catalog.pattern('reviewer') is catalog.pattern('code-reviewer')
    assert 'reviewer' not in catalog.patterns

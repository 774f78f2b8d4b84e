"""Values typed on the command line, read by the type of their parameter."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import Catalog, InvalidInput
from engine.patterns.dynamic.podcast import Podcast
from engine.records import MAX_FILE
from ui.cli.execution.given_files import read_files
from ui.cli.inputs import parse_parameters
from ui.formatting.fields.parameters import describe_pattern


def test_a_text_field_takes_text_even_if_it_is_json() -> None:
    text = '{"segments": []}'
    values = parse_parameters(describe_pattern(Podcast), None, [f'transcript={text}'])
    assert values == {'transcript': text}


def test_files_are_read_by_their_names_or_others_and_folders_with_all_in_them(tmp_path: Path) -> None:
    for path, data in {'a.txt': b'a', 'docs/b.bin': b'\0', 'docs/.git/config': b'', 'x=y': b'c'}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    (tmp_path / 'docs' / 'link').symlink_to('/etc/passwd')
    binary = {'base64': 'AA=='}
    for text, files in {
        'a.txt': {'a.txt': 'a'},
        'a.txt=notes/b.txt': {'notes/b.txt': 'a'},
        'docs': {'docs/b.bin': binary},
        'docs/': {'docs/b.bin': binary},
        'docs=data': {'data/b.bin': binary},
        'docs=.': {'b.bin': binary},
        'x=y': {'x=y': 'c'},
    }.items():
        assert read_files([f'{tmp_path}/{text}']) == files
    for text, problem in {
        'no.txt': 'file: .*no.txt: No such file or directory',
        'a.txt=../b': r'file\.\.\./b: must not have',
    }.items():
        with pytest.raises(InvalidInput, match=problem):
            read_files([f'{tmp_path}/{text}'])
    (tmp_path / 'large').write_bytes(b'x' * (MAX_FILE + 10))
    with pytest.raises(InvalidInput, match=r'file\.large: is larger than 1 MB'):
        read_files([f'{tmp_path}/large'])


@pytest.mark.parametrize(('text', 'value'), [('true', True), ('false', False)])
def test_what_is_true_or_false_is_given_in_words(text: str, value: bool) -> None:
    author = Catalog.load().pattern('author')
    values = parse_parameters(describe_pattern(author), 'a toast', [f'review={text}', 'tools=["notes"]'])
    parsed = author.parse(values).model_dump()
    assert (parsed['review'], parsed['request'], parsed['tools']) == (value, 'a toast', ('notes',))

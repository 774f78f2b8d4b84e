"""Each command that the README and the guides show exists, with its options; none of them is run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from typer.core import TyperGroup

from tests.tree import ROOT
from ui.cli.commands import load

PAGES = [ROOT / 'README.md', *sorted((ROOT / 'assets' / 'guide').glob('*.md'))]
BLOCK = re.compile(r'```(?:sh|console)?\n(.*?)```', re.DOTALL)
CALL = re.compile(r'(?:^|&& |\| |[A-Z_]+=\S+ |\$ )(?:\.venv/bin/)?hemicycle ((?!&&).+?)(?= && | \| |$)')


def shown() -> Iterator[tuple[str, list[str]]]:
    """The page of each command in a block, and its words."""
    for page in PAGES:
        for block in BLOCK.findall(page.read_text('utf-8')):
            for line in block.replace('\\\n', ' ').splitlines():
                for words in CALL.findall(line):
                    yield page.name, shlex.split(words, comments=True)


def parse(words: list[str]) -> None:
    """Read the words as the terminal does, without running anything. Raises what it raises."""
    command: Any = load(words[0])
    context, rest = command.context_class(command, info_name=words[0]), words[1:]
    while isinstance(command, TyperGroup) and rest and rest[0][0] != '-':
        inner = command.get_command(context, rest[0])
        assert inner, f'{words[0]} has no command {rest[0]!r}'
        command, context, rest = inner, inner.context_class(inner, parent=context), rest[1:]
    _, left, _ = command.make_parser(context).parse_args(rest)
    assert not left, f'{words[0]} takes no {left[0]!r}'


CALLS = [pytest.param(words, id=f'{page}: {" ".join(words)}') for page, words in shown()]


@pytest.mark.parametrize('words', CALLS)
def test_a_command_that_is_shown_exists(words: list[str]) -> None:
    parse(words)


def test_commands_are_found() -> None:
    assert len(CALLS) > 30


@pytest.mark.parametrize('wrong', ['runs --colour red', 'forecast last', 'user explode', 'audit one two'])
def test_a_command_that_is_gone_is_noticed(wrong: str) -> None:
    with pytest.raises(Exception, match=r'colour|forecast|explode|two'):
        parse(wrong.split())

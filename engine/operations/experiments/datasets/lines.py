"""Lines: the cases of a dataset as JSON lines, one case in each, in which large ones are sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import BinaryIO

from pydantic import TypeAdapter, ValidationError

from engine.errors import InvalidInput
from engine.operations.experiments.datasets.records import MAX_CASES, Case

MAX_BYTES = 64 << 20
"""Maximum size of the cases of a version, as JSON."""
MAX_PROBLEMS = 20
CASE: TypeAdapter[Case] = TypeAdapter(Case)


def write_lines(cases: Sequence[Case]) -> bytes:
    """Return the cases as JSON lines. Takes a while for many: call it in a thread.

    Raises:
        InvalidInput: they are larger than `MAX_BYTES`.
    """
    text = b''.join(CASE.dump_json(case) + b'\n' for case in cases)
    check_size(len(text))
    return text


def read_lines(file: BinaryIO) -> list[Case]:
    """Return the cases in JSON lines. Takes a while for many: call it in a thread.

    Raises:
        InvalidInput: names the cases by their places, from 0, and the fields; or there are too many.
    """
    cases: list[Case] = []
    problems: dict[str, str] = {}
    for place, line in enumerate(_filled(file)):
        if place >= MAX_CASES:
            problems['cases'] = f'there must be 1 to {MAX_CASES:,}'
        if len(problems) >= MAX_PROBLEMS or 'cases' in problems:
            break
        try:
            cases.append(CASE.validate_json(line))
        except ValidationError as error:
            for item in error.errors(include_url=False):
                problems['.'.join(map(str, ('cases', place, *item['loc'])))] = item['msg']
    if problems:
        raise InvalidInput(problems)
    return cases


def check_size(size: int) -> None:
    """Raise `InvalidInput` if cases of so many bytes are too large."""
    if size > MAX_BYTES:
        raise InvalidInput({'cases': f'are larger than {MAX_BYTES >> 20} MB: make several datasets'})


def _filled(file: BinaryIO) -> Iterable[bytes]:
    return (line for line in file if line.strip())

"""Columns: what each of a table is read as, and cells as values of a pattern's parameters."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

JSON_SUFFIX = ':json'
"""Ends the name of a column whose cells are JSON."""
PARAMETERS, EXPECTATION, FILES = 'parameters.', 'expectation.', 'files.'
OWN = ('id', 'split', 'tags', 'source', 'expectation', 'parameters', 'files')
"""Columns with a meaning of their own; all others are parameters."""
WHOLE = re.compile(r'[+-]?\d{1,18}(\.0+)?')
BOOLEANS = {'true': True, 'yes': True, '1': True, 'false': False, 'no': False, '0': False}
DECIMAL_COMMA = re.compile(r'[+-]?\d+,\d+')


def target_of(column: str, parameters: Mapping[str, Any] | None = None) -> str:
    """Return what a column is read as by its name: see `ImportedCases.columns`."""
    name = column.removesuffix(JSON_SUFFIX)
    if name in OWN or name.startswith((PARAMETERS, EXPECTATION, FILES)):
        return name
    known = {known.casefold(): known for known in parameters or ()}
    return PARAMETERS + (name if name in known.values() else known.get(name.casefold(), name))


def check_target(target: str, parameters: Mapping[str, Any] | None) -> str:
    """Return what is wrong with a target; '' if nothing."""
    if target in ('', *OWN) or (target.startswith((EXPECTATION, FILES)) and target[-1] != '.'):
        return ''
    name = target.removeprefix(PARAMETERS)
    if not target.startswith(PARAMETERS) or not name:
        return (
            f'cannot be read as {target!r}; as: {", ".join(OWN)}, expectation.NAME, files.PATH or '
            'parameters.NAME'
        )
    if parameters is not None and name not in parameters:
        return f'the pattern has no parameter {name!r}; it has: {", ".join(parameters)}'
    return ''


def schemas_of(model: type[BaseModel]) -> dict[str, frozenset[str]]:
    """Return for each field of a model the JSON types that it takes."""
    schema = model.model_json_schema()
    definitions = schema.get('$defs', {})
    return {name: frozenset(_types(part, definitions)) for name, part in schema['properties'].items()}


def _types(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> set[str]:
    if '$ref' in schema:
        return _types(definitions.get(schema['$ref'].rpartition('/')[2], {}), definitions) - {'null'}
    parts = [*schema.get('anyOf', ()), *schema.get('oneOf', ()), *schema.get('allOf', ())]
    types = {name for part in parts for name in _types(part, definitions)}
    stated = schema.get('type', ())
    types |= {stated} if isinstance(stated, str) else set(stated)
    return types - {'null'}


def read_json(text: str) -> Any:
    """Read JSON from one line. Raises `ValueError`, which says what is wrong and where."""
    try:
        return from_json(text.strip(), allow_inf_nan=False)
    except ValueError as error:
        problem = str(error).replace('at line 1 column', 'at character')
        hint = ', and all of it in one line' if problem.startswith('EOF') else ''
        raise ValueError(f'must be JSON{hint}: {problem}') from None


def read_text(text: str, types: frozenset[str], *, decimal_comma: bool = False) -> Any:
    """Read a cell as a value of one of these JSON types; any other is text.

    Raises:
        ValueError: says what would fit.
    """
    if not types or 'string' in types:
        return text
    text, problem = text.strip(), 'does not fit'
    for name, read in READERS.items():
        if name in types:
            try:
                return read(
                    text.replace(',', '.') if decimal_comma and DECIMAL_COMMA.fullmatch(text) else text
                )
            except ValueError as error:
                problem = str(error)
    raise ValueError(problem)


def _read_boolean(text: str) -> bool:
    if text.casefold() not in BOOLEANS:
        raise ValueError(f'must be true or false, not {_short(text)}')
    return BOOLEANS[text.casefold()]


def _read_whole(text: str) -> int:
    if not WHOLE.fullmatch(text):
        raise ValueError(f'must be a whole number such as 12, not {_short(text)}')
    return int(text.partition('.')[0])


def _read_number(text: str) -> float:
    try:
        number = float(text) if '_' not in text else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f'must be a number such as 1.5, not {_short(text)}')
    return number


def _read_list(text: str) -> Any:
    value = read_json(text) if text.startswith('[') else None
    if not isinstance(value, list):
        raise ValueError(f'must be a JSON list such as ["a", "b"], not {_short(text)}')
    return value


def _read_object(text: str) -> Any:
    value = read_json(text) if text.startswith('{') else None
    if not isinstance(value, dict):
        raise ValueError(f'must be a JSON object such as {{"a": 1}}, not {_short(text)}')
    return value


READERS: Mapping[str, Callable[[str], Any]] = {
    'boolean': _read_boolean,
    'integer': _read_whole,
    'number': _read_number,
    'array': _read_list,
    'object': _read_object,
}


def _short(text: str) -> str:
    return json.dumps(text if len(text) <= 40 else f'{text[:39]}…', ensure_ascii=False)

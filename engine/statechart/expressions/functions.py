"""The functions of expressions, on JSON values and records; each says what it costs and what it takes."""

from __future__ import annotations

import heapq
import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from engine.records.jsonable import shorten
from engine.statechart.expressions.quoting import fence
from engine.statechart.expressions.values import (
    MAX_JOINED,
    EvaluationError,
    are_strings,
    contains,
    finite,
    get_item,
    is_number,
    is_simple,
    kind_of,
    require_list,
    to_json,
)

MAX_RANGE = 10_000
"""Maximum number of items of a `range`."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and how many values it takes."""

    call: Callable[..., Any]
    least: int
    most: int
    takes: str
    """How it is called, and what it gives."""
    deep: bool = False
    """Whether it looks inside the items of a list, as a comparison of records does."""


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | Mapping) else len(require_list(value))


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise EvaluationError(f'{name} needs text, not {kind_of(value)}')
    return value


def _of_text(name: str, change: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda value: change(_text(value, name))


def _starts(value: Any, start: Any) -> bool:
    if not are_strings(value, start):
        raise EvaluationError(f'starts needs two texts, not {kind_of(value)} and {kind_of(start)}')
    return bool(value.startswith(start))


def _ends(value: Any, end: Any) -> bool:
    return _text(value, 'ends').endswith(_text(end, 'ends'))


def _trim(value: Any, start: Any = None, end: Any = None) -> str:
    """Without white space around it, or without these characters at its start and its end."""
    text = _text(value, 'trim')
    if start is None:
        return text.strip()
    return text.lstrip(_text(start, 'trim')).rstrip(_text(start if end is None else end, 'trim'))


def _fold(value: Any) -> str:
    """Return a text as it is compared: without case, and with single spaces."""
    return ' '.join(unicodedata.normalize('NFKC', _text(value, 'fold')).casefold().split())


def _replace(value: Any, old: Any, new: Any) -> str:
    text, before, after = _text(value, 'replace'), _text(old, 'replace'), _text(new, 'replace')
    if len(text) + max(0, len(after) - len(before)) * text.count(before) > MAX_JOINED:
        raise EvaluationError('the text would be too long')
    return text.replace(before, after)


def _split(value: Any, separator: Any = None, most: Any = -1) -> list[str]:
    if separator is not None and not _text(separator, 'split'):
        raise EvaluationError('split needs a separator that is not empty')
    return _text(value, 'split').split(separator, _whole(most))


def to_text(value: Any) -> str:
    """Return a value as a reader expects it in a text: 3, not 3.0; true; a list or a record as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ''
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        return f'{value:g}' if abs(value) < 1e15 else repr(value)
    return str(value) if isinstance(value, int) else _json_text(value)


def _json_text(value: Any) -> str:
    text = json.dumps(to_json(value), ensure_ascii=False, default=to_json)
    if len(text) > MAX_JOINED:
        raise EvaluationError('the text would be too long')
    return text


def _quote(name: Any, text: Any) -> str:
    return fence(_text(name, 'quote'), _text(text, 'quote'))


def _shorten(value: Any) -> str:
    return shorten(to_json(value))


def _join(values: Any, separator: Any = ', ') -> str:
    texts = [to_text(value) for value in require_list(values)]
    between = _text(separator, 'join')
    if sum(map(len, texts)) + len(between) * len(texts) > MAX_JOINED:
        raise EvaluationError('the text would be too long')
    return between.join(texts)


def _absolute(value: Any) -> Any:
    return abs(_numbers([value])[0])


def _extreme(pick: Callable[[Sequence[Any]], Any]) -> Callable[..., Any]:
    def find(*values: Any) -> Any:
        numbers = _numbers(require_list(values[0]) if len(values) == 1 else values)
        return pick(numbers) if numbers else None

    return find


def _sum(values: Any) -> Any:
    return finite(sum(_numbers(require_list(values))))


def _round(value: Any, digits: Any = 0) -> Any:
    places = _whole(digits)
    if not -15 <= places <= 15:
        raise EvaluationError('round takes at most 15 digits')
    return round(_numbers([value])[0], places or None)


def _numbers(values: Sequence[Any]) -> Sequence[Any]:
    wrong = next((value for value in values if not is_number(value)), None)
    if wrong is not None or None in values:
        raise EvaluationError(f'it needs numbers, not {kind_of(wrong)}')
    return values


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError(f'it needs a whole number, not {kind_of(value)}')
    return value


def _range(*bounds: Any) -> list[int]:
    numbers = range(*map(_whole, bounds))
    if not -MAX_RANGE <= numbers.stop - numbers.start <= MAX_RANGE:
        raise EvaluationError(f'range gives at most {MAX_RANGE:,} numbers')
    return list(numbers)


def _first(values: Any, count: Any = None) -> Any:
    items = values if isinstance(values, str) else require_list(values)
    if count is None:
        return items[0] if items else None
    return items[: max(0, _whole(count))]


def _last(values: Any, count: Any = None) -> Any:
    items = values if isinstance(values, str) else require_list(values)
    if count is None:
        return items[-1] if items else None
    return items[max(0, len(items) - _whole(count)) :]


def _rest(values: Any, start: Any) -> Any:
    """Return a list or a text from an index on."""
    return (values if isinstance(values, str) else require_list(values))[max(0, _whole(start)) :]


def _count(values: Any, wanted: Any) -> int:
    sought = to_json(wanted)
    return sum(1 for value in require_list(values) if to_json(value) == sought)


def _index(values: Any, wanted: Any) -> int | None:
    sought, items = to_json(wanted), enumerate(require_list(values))
    return next((number for number, value in items if to_json(value) == sought), None)


def _unique(values: Any) -> list[Any]:
    return list({_key(value): value for value in reversed(require_list(values))}.values())[::-1]


def _tally(values: Any) -> dict[str, int]:
    """Count equal values: the most frequent first, of equally frequent ones the earlier."""
    return dict(Counter(to_text(value) for value in require_list(values)).most_common())


def _key(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else _json_text(value)


def _sort(values: Any, field: Any = None) -> list[Any]:
    items = list(require_list(values))
    keys = items if field is None else [get_item(item, field) for item in items]
    if not (all(map(is_number, keys)) or are_strings(*keys)):
        raise EvaluationError('sort needs numbers or texts, all of one kind')
    return [items[place] for place in sorted(range(len(items)), key=keys.__getitem__)]


def _reverse(values: Any) -> Any:
    return values[::-1] if isinstance(values, str) else list(require_list(values))[::-1]


def _flat(values: Any) -> list[Any]:
    return [item for value in require_list(values) for item in require_list(value)]


def _keys(value: Any) -> list[str]:
    return list(_fields(value))


def _values(value: Any) -> list[Any]:
    return list(_fields(value).values())


def _merge(*parts: Any) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for part in parts:
        merged |= _fields(part)
    return merged


def _fields(value: Any) -> Mapping[str, Any]:
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if not isinstance(value, Mapping):
        raise EvaluationError(f'it needs an object, not {kind_of(value)}')
    return value


def _order(items: Any, name: Any = 'id', needs: Any = 'needs', urgency: Any = None) -> list[Any]:
    """Order items after those they need, the lowest `urgency` first among those that are ready."""
    listed = list(require_list(items))
    names = [get_item(item, name) for item in listed]
    places = _places(names, name)
    missing: list[int] = []
    """By item: how many of those that it needs are not there yet."""
    needed_by: dict[Any, list[int]] = {}
    for place, item in enumerate(listed):
        needed = dict.fromkeys(_ids(require_list(get_item(item, needs) or ()), needs))
        if unknown := [each for each in needed if each not in places]:
            raise EvaluationError(f'{names[place]!r} needs {unknown[0]!r}, which is not there')
        missing.append(len(needed))
        for each in needed:
            needed_by.setdefault(each, []).append(place)
    ranks = _numbers([get_item(item, urgency) for item in listed]) if urgency else [0] * len(listed)
    ready = [(ranks[place], place) for place, count in enumerate(missing) if not count]
    heapq.heapify(ready)
    ordered: list[int] = []
    while ready:
        _, place = heapq.heappop(ready)
        ordered.append(place)
        for other in needed_by.get(names[place], ()):
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(ready, (ranks[other], other))
    if len(ordered) < len(listed):
        cycle = ', '.join(repr(names[place]) for place, count in enumerate(missing) if count)
        raise EvaluationError(f'these need each other: {cycle}'[:500])
    return [listed[place] for place in ordered]


def _places(names: Sequence[Any], field: Any) -> dict[Any, int]:
    """Return the place of each name. Raises `EvaluationError`: two are the same."""
    places: dict[Any, int] = {}
    for place, name in enumerate(_ids(names, field)):
        if name in places:
            raise EvaluationError(f'two items have the {field} {name!r}')
        places[name] = place
    return places


def _ids(values: Sequence[Any], field: Any) -> Sequence[Any]:
    if wrong := [value for value in values if not is_simple(value)]:
        raise EvaluationError(f'{field} must hold texts or numbers, not {kind_of(wrong[0])}')
    return values


FUNCTIONS: Mapping[str, Function] = {
    'len': Function(_length, 1, 1, 'len(list): how many items it has; of a text, how many characters'),
    'lower': Function(_of_text('lower', str.lower), 1, 1, 'lower(text): in small letters'),
    'upper': Function(_of_text('upper', str.upper), 1, 1, 'upper(text): in capital letters'),
    'capitalize': Function(_of_text('capitalize', str.capitalize), 1, 1, 'capitalize(text): with a capital'),
    'trim': Function(_trim, 1, 3, 'trim(text, start, end): without spaces or these characters around it'),
    'fold': Function(_fold, 1, 1, 'fold(text): as texts are compared, without case and repeated spaces'),
    'contains': Function(contains, 2, 2, 'contains(whole, part): whether a list or a text has it', True),
    'starts': Function(_starts, 2, 2, 'starts(text, start): whether it begins with that'),
    'ends': Function(_ends, 2, 2, 'ends(text, end): whether it ends with that'),
    'replace': Function(_replace, 3, 3, 'replace(text, old, new): with the new in place of the old'),
    'split': Function(_split, 1, 3, 'split(text, separator, most): its parts, cut at most so often'),
    'join': Function(_join, 1, 2, 'join(list, separator): one text of all; by default with commas'),
    'string': Function(to_text, 1, 1, 'string(value): as text; lists and objects as JSON', True),
    'quote': Function(_quote, 2, 2, 'quote(name, text): between marks, so that no model follows it'),
    'shorten': Function(_shorten, 1, 1, 'shorten(value): as in logs, at most 200 characters', True),
    'abs': Function(_absolute, 1, 1, 'abs(number): without its sign'),
    'min': Function(_extreme(min), 1, 100, 'min(list): the least number, also of several values'),
    'max': Function(_extreme(max), 1, 100, 'max(list): the greatest number, also of several values'),
    'sum': Function(_sum, 1, 1, 'sum(list): of its numbers'),
    'round': Function(_round, 1, 2, 'round(number, digits): to a whole number, or so many digits'),
    'range': Function(_range, 1, 2, 'range(start, end): whole numbers, the end not among them'),
    'any': Function(lambda values: any(require_list(values)), 1, 1, 'any(list): whether an item is true'),
    'all': Function(lambda values: all(require_list(values)), 1, 1, 'all(list): whether every item is true'),
    'first': Function(_first, 1, 2, 'first(list, count): its first item, or so many of them'),
    'last': Function(_last, 1, 2, 'last(list, count): its last item, or so many of them'),
    'rest': Function(_rest, 2, 2, 'rest(list, start): what is there from an index on'),
    'count': Function(_count, 2, 2, 'count(list, value): how often it is there', True),
    'index': Function(_index, 2, 2, 'index(list, value): where it is; null if it is not', True),
    'unique': Function(_unique, 1, 1, 'unique(list): each value once', True),
    'tally': Function(_tally, 1, 1, 'tally(list): how often each value is there, most frequent first', True),
    'sort': Function(_sort, 1, 2, 'sort(list, field): in order, of a field of its items if one is named'),
    'reverse': Function(_reverse, 1, 1, 'reverse(list): from the end'),
    'flat': Function(_flat, 1, 1, 'flat(lists): one list of their items', True),
    'keys': Function(_keys, 1, 1, 'keys(object): the names of its fields'),
    'values': Function(_values, 1, 1, 'values(object): the values of its fields'),
    'merge': Function(_merge, 1, 10, 'merge(object, other): with the fields of the other', True),
    'order': Function(_order, 1, 4, 'order(list, id, needs, rank): each after what it needs, by rank', True),
}  # fmt: skip
"""The functions available. Null arguments give null."""

"""Structured output: parses a reply into the requested record, or describes its problem."""

from __future__ import annotations

import contextlib
import json
import re
from itertools import islice
from typing import Any

from pydantic import BaseModel, ValidationError


def parse_structured(record: type[BaseModel], text: str) -> dict[str, Any]:
    """Parse the answer as the requested record; models often wrap it in a code fence or a sentence."""
    try:
        answer = _json_in(text)
        return {'output': record.model_validate(answer).model_dump(mode='json')}
    except ValidationError as error:
        listed = '; '.join(
            f'{".".join(map(str, item["loc"])) or "it"}: {item["msg"]}' for item in error.errors()
        )
        return {'unfit': listed}
    except (ValueError, RecursionError) as error:
        return {'unfit': f'it is not JSON: {error}'}


def parse_answer(record: type[BaseModel], text: str, *, was_repaired: bool) -> dict[str, Any]:
    """Parse an agent's answer; if it was asked again already, a record made `from_prose` accepts any text."""
    result = parse_structured(record, text)
    prose = getattr(record, 'from_prose', None)
    if 'unfit' in result and prose and was_repaired and text.strip():
        return {'output': prose(text.strip()).model_dump(mode='json')}
    return result


def _json_in(text: str) -> Any:
    """Return the text as JSON, or the first JSON object inside it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        for start in islice(re.finditer(r'\{', text), MAX_BRACES):
            with contextlib.suppress(ValueError, RecursionError):
                return json.JSONDecoder().raw_decode(text, start.start())[0]
        raise


MAX_BRACES = 100
"""Maximum number of positions in an answer to try for a JSON object."""

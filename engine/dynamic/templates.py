"""Prompt templates: files that a user can read and change, filled in without running what users wrote."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import EngineError
from engine.files.workspaces import default_root

FOLDER = Path(__file__).parents[2] / 'assets' / 'prompts'
SETTING = 'HEMICYCLE_PROMPTS'
"""The folder of the user's own templates; `prompts` beside the workspaces where it is not set."""


def folders() -> list[Path]:
    """Where templates are looked for, the first place first."""
    named = os.environ.get(SETTING, '').strip()
    own = Path(named).expanduser() if named else default_root().parent / 'prompts'
    return [own, FOLDER]


def fill(name: str, values: Mapping[str, Any]) -> str:
    """A template with values in it.

    The values are data: what looks like a template in them is text, and the filter `data` marks where text of
    a user begins and ends, so that a model can tell it from its orders.

    Args:
        name: of the file, without `.md`.
        values: what the template may name; one that is not there is an error.

    Raises:
        EngineError: there is no such template, or it is written wrongly; names the file and the line.
    """
    places = folders()
    environment = ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([FileSystemLoader(place) for place in places]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters['data'] = as_data
    try:
        return environment.get_template(f'{name}.md').render(**values).strip()
    except TemplateNotFound as error:
        listed = ' or '.join(str(place) for place in places)
        raise EngineError(f'there is no prompt template {error.name} in {listed}') from None
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, OSError) as error:
        line = getattr(error, 'lineno', None)
        where = f'{name}.md{f", line {line}" if line else ""}'
        raise EngineError(f'the prompt template {where}: {type(error).__name__}: {error}') from None


def as_data(text: object, tag: str = 'data') -> str:
    """Text between marks that it cannot leave: its own copies of the closing mark lose their bracket."""
    inside = str(text).replace(f'</{tag}', f'(/{tag}').replace(f'<{tag}', f'({tag}')
    return f'<{tag}>\n{inside}\n</{tag}>'

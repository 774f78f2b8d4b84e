"""Prompt templates: files that users can read and edit, rendered without executing their code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, StrictUndefined, TemplateError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.errors import EngineError
from engine.host.home import home_folder

FOLDER = Path(__file__).parents[3] / 'assets' / 'prompts'
SETTING = 'HEMICYCLE_PROMPTS'
"""The variable for the folder of the user's templates; by default `prompts` next to the workspaces."""


def folders() -> list[Path]:
    """Return the folders to search for templates, in order."""
    named = os.environ.get(SETTING, '').strip()
    own = Path(named).expanduser() if named else home_folder() / 'prompts'
    return [own, FOLDER]


def fill(name: str, values: Mapping[str, Any]) -> str:
    """Render a template with values.

    The values are data: template syntax in them is plain text. The filter `data` marks the start and end of a
    user's text, so that a model can distinguish it from its instructions.

    Args:
        name: the file's name without `.md`.
        values: the template's variables; undefined ones are errors.

    Raises:
        EngineError: the template does not exist or is invalid; names the file and the line.
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
    """Enclose text in tags that it cannot break out of: the same tags inside it lose their bracket."""
    inside = str(text).replace(f'</{tag}', f'(/{tag}').replace(f'<{tag}', f'({tag}')
    return f'<{tag}>\n{inside}\n</{tag}>'

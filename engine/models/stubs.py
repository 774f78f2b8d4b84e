"""Stubs: answers given to agents by visit, instead of asking a model, and the files that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, TypeAdapter

from engine.errors import InvalidInput
from engine.models.prepared_replies import Turn, Visit, turn_at, turns_at, unseen_text
from engine.models.protocol import SCRIPTED, ModelRequest, candidate_models
from engine.models.yaml_lines import QuickLoader, check_structure, line_of, read_document
from engine.records import RunInfo

MAX_FILE = 256 * 1024
"""Maximum size of a stub file, in bytes."""
MAX_DEPTH = 40
"""Maximum depth of nested values in a stub file."""
FIELD = re.compile(r'stubs(?:\.(?P<path>.*))?')


def _turns(given: Any) -> Any:
    """Return a visit as turns: a text or an object alone is its one answer."""
    match given:
        case str():
            return [{'text': given}]
        case Mapping():
            return [{'answer': given}]
        case _:
            return given


VISIT: TypeAdapter[tuple[Turn, ...]] = TypeAdapter(Annotated[Visit, BeforeValidator(_turns)])


def stubs_for(stubs: Mapping[str, Sequence[Any]], path: str, role: str) -> tuple[Any, ...]:
    """Return the visits that stubs have for the agent at a path, or for its role; none without."""
    return tuple(stubs.get(path) or stubs.get(role) or ())


def models_and_stubs(run: RunInfo, path: str, role: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the models that answer an agent, the preferred first, and the stubs that do so instead."""
    if stubs := stubs_for(run.options.get('stubs', {}), path, role):
        return (SCRIPTED,), stubs
    return candidate_models(run.models, role), ()


def stub_of(request: ModelRequest) -> Turn:
    """Return the reply that the stubs in a request's hints have for it."""
    hints = request.hints
    turns = VISIT.validate_python(turns_at(hints.stubs, hints.visit))
    return turn_at(turns, hints.turn).select_case(unseen_text(request.messages))


class StubFile(dict[str, Any]):
    """What a stub file holds: by agent, its visits."""

    def __init__(self, path: str, visits: Mapping[str, Any], root: yaml.Node) -> None:
        super().__init__(visits)
        self._path, self._root = path, root

    @contextmanager
    def located(self) -> Iterator[None]:
        """Name the file and the line in the problems with its stubs. Raises `InvalidInput`."""
        try:
            yield
        except InvalidInput as error:
            raise InvalidInput(dict(map(self._locate, error.problems.items()))) from None

    def _locate(self, problem: tuple[str, str]) -> tuple[str, str]:
        field, text = problem
        match = FIELD.fullmatch(field)
        named = [name for name in self if match and _is_of(name, match['path'] or '')]
        agent = max(named, key=len, default=None)  # An agent may be within another's path.
        if match is None or agent is None:
            return problem
        steps = [step for step in (match['path'] or '').removeprefix(agent).split('.') if step]
        at = (agent, *(int(step) if step.isdecimal() else step for step in steps))
        visit = [f'visit {int(steps[0]) + 1}'] if steps and steps[0].isdecimal() else []
        rest = '.'.join(steps[len(visit) :])
        where = ', '.join([agent, *visit, *([rest] if rest else [])])
        return f'{self._path}:{line_of(self._root, at)}: {where}', text


def _is_of(agent: str, path: str) -> bool:
    """Return whether the path of a field, such as `reviewer.0.score`, is in an agent's visits."""
    return path == agent or path.startswith(f'{agent}.')


def read_stub_file(name: str) -> StubFile:
    """Read a stub file, YAML or JSON. Raises `InvalidInput`, naming the file and the line."""
    try:
        with Path(name).open('rb') as file:
            content = file.read(MAX_FILE + 1)
    except OSError as error:
        raise InvalidInput({name: f'cannot be read: {error.strerror}'}) from None
    if len(content) > MAX_FILE:
        raise InvalidInput({name: f'is larger than {MAX_FILE // 1024} KB'})
    try:
        text = content.decode('utf-8-sig')
    except UnicodeDecodeError:
        raise InvalidInput({name: 'is not UTF-8 text'}) from None
    root, data = _parse(name, text)
    return StubFile(name, data, root)


def write_stubs(stubs: Mapping[str, Any]) -> str:
    """Return stubs as the text of a stub file."""
    return yaml.safe_dump(dict(stubs), allow_unicode=True, sort_keys=False, width=110)


def _parse(name: str, text: str) -> tuple[yaml.Node, Mapping[str, Any]]:
    try:
        for line, problem in check_structure(text, MAX_DEPTH):
            raise InvalidInput({f'{name}:{line}': problem})
        root, data = read_document(QuickLoader(text))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidInput({f'{name}:{line}': f'is neither YAML nor JSON: {error.problem}'}) from None
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidInput({name: f'is neither YAML nor JSON: {error}'}) from None
    if root is None or not isinstance(data, Mapping):
        raise InvalidInput({f'{name}:1': 'must name agents, each with a list of its answers'})
    for agent, visits in data.items():
        if not isinstance(agent, str) or not isinstance(visits, list) or not visits:
            line = line_of(root, (agent,))
            raise InvalidInput({f'{name}:{line}': f'{agent}: must be a list of answers, one for each visit'})
    return root, data

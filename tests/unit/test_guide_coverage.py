"""All that users can set, call, send or define is described in a guide; the lists come from the code."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from engine import Catalog, Pattern, agent
from engine.agents.criteria import Criteria
from engine.charts import chart_schema
from engine.charts.compiling.scope import NAMES
from engine.charts.format import ChartFile
from engine.configuration import ConfigFile
from engine.history.accepted_events import APPROVALS
from engine.records import ANSWER
from engine.runtime.run_factory import EXTERNAL_CONTROL
from engine.statechart.expressions.functions import FUNCTIONS
from engine.statechart.shape_builder import EDGE_KEYS, panel_fields
from engine.statechart.validation import STATE_KEYS
from engine.tools.acp.process import COOKIE
from tests.support.cli import all_commands
from tests.tree import ROOT
from ui.app.access.oidc import ProviderSettings
from ui.app.settings import Settings
from ui.web.pages.run.panes import PANES

GUIDE = ROOT / 'assets' / 'guide'
TEXTS = {path.stem: path.read_text('utf-8') for path in sorted(GUIDE.glob('*.md'))}
CODE = re.compile(r'`([^`]+)`')
ROW = re.compile(r'^\| *([^|]+?) *\|(.+)\|$', re.MULTILINE)
"""The first cell of a table's row, and the rest."""
PATTERNS = Catalog.load().patterns

Missing = Iterator[str]


def described(text: str) -> dict[str, str]:
    """Return what tables say about the names in the first cells of their rows."""
    return {
        name: rest
        for first, rest in ROW.findall(text)
        for name in (word.partition('(')[0] for word in CODE.findall(first))
        if len(CODE.sub('', rest).strip(' |')) >= 8  # More than the name and a default.
    }


def section(guide: str, name: str) -> str:
    """Return the sections of a guide whose headings name something as code."""
    parts = re.split(r'^(#+ .+)$', TEXTS[guide], flags=re.MULTILINE)
    return ''.join(
        body for heading, body in zip(parts[1::2], parts[2::2], strict=True) if f'`{name}`' in heading
    )


def find_commands() -> Missing:
    text = '\n'.join(TEXTS.values())
    for name, command in all_commands().items():
        call = f'hemicycle {name}'
        if not hasattr(command, 'commands') and not re.search(rf'{call}(?![\w-])', text):
            yield call


def setting_names(model: type[BaseModel], prefix: str = '') -> Iterator[str]:
    """Yield the names of a table's settings, with those of nested tables."""
    for name, field in model.model_fields.items():
        yield prefix + name
        for kind in get_args(field.annotation):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from setting_names(kind, f'{prefix}{name}.')


def find_settings() -> Missing:
    for table, field in ConfigFile.model_fields.items():
        kind = next((arg for arg in get_args(field.annotation) if arg is not str), field.annotation)
        heading = f'[{table}.NAME]' if get_args(field.annotation) else f'[{table}]'
        rows = described(section('settings', heading))
        yield from (f'{name} of {heading}' for name in setting_names(kind) if name not in rows)
    rows = described(TEXTS['settings'])
    for field in fields(Settings):
        if not {f'--{field.name}', f'HEMICYCLE_{field.name.upper()}'} & rows.keys():
            yield f'the setting {field.name} of a process'


class Reads(dict[str, str]):
    """An environment that notes which variables are read."""

    def get(self, name: str, default: Any = None) -> Any:
        self[name] = 'https://login.example' if name.endswith('ISSUER') else 'viewer'
        return super().get(name, default) if not name.endswith('ROLES') else ''


def variables() -> set[str]:
    """Return the environment variables that the code names."""
    environment = Reads()
    ProviderSettings.of(environment)
    texts = {
        ''.join(str(part.value) if isinstance(part, ast.Constant) else 'NAME' for part in parts)
        for folder in ('engine', 'storage', 'ui')
        for path in (ROOT / folder).rglob('*.py')
        if 'HEMICYCLE_' in (source := path.read_text('utf-8'))
        for node in ast.walk(ast.parse(source))
        if (parts := node.values if isinstance(node, ast.JoinedStr) else [node])
    }
    named = {text for text in texts if re.fullmatch(r'HEMICYCLE_[A-Z_]*[A-Z]', text)}
    return {*named, *environment} - {COOKIE}  # The cookie marks processes that we start.


def find_variables() -> Missing:
    rows = described('\n'.join(TEXTS.values()))
    yield from (name for name in variables() if name not in rows)


def find_events() -> Missing:
    rows = described(section('runs', 'send'))
    yield from (f'the event {name}' for name in {*EXTERNAL_CONTROL, *APPROVALS, ANSWER} if name not in rows)
    for pattern in PATTERNS.values():
        rows = described(section('included-patterns', pattern.name))
        for event, record in pattern.inputs.items():
            for name in (event, *record.model_fields):
                if f'`{name}`' not in f'`{event}`{rows.get(event, "")}' or event not in rows:
                    yield f'{name} of the event {event} of {pattern.name}'


def find_parameters() -> Missing:
    for pattern in PATTERNS.values():
        rows = described(section('included-patterns', pattern.name))
        for name, field in pattern.Parameters.model_fields.items():
            if name not in rows:
                yield f'{name} of {pattern.name}'
            elif missing := [fact for fact in facts_of(field) if not states(rows[name], fact)]:
                yield f'{", ".join(missing)} (default or bound of {name} of {pattern.name})'


def states(text: str, fact: str) -> bool:
    """Whether a text has this word or number, not only as part of another."""
    return bool(re.search(rf'(?<![\w.,]){re.escape(fact)}(?!\w|[.,]\d)', text))


def facts_of(field: Any) -> Iterator[str]:
    """Yield the default and the bounds of a parameter, as a guide writes them."""
    if field.is_required():
        yield 'required'
    elif isinstance(field.default, bool):
        yield 'on' if field.default else 'off'
    else:
        yield f'{field.default:,}' if isinstance(field.default, int | float) else str(field.default or 'none')
    for bound in field.metadata:
        for kind in ('ge', 'le', 'gt'):
            if (value := getattr(bound, kind, None)) is not None:
                yield f'{value:,}'


def find_hooks() -> Missing:
    rows = described(TEXTS['patterns'])
    hooks: Mapping[str, Any] = {
        'Pattern': [name for name in dir(Pattern) if not name.startswith('_')],
        'a state': STATE_KEYS,
        'an edge': EDGE_KEYS,
        'agent()': inspect.signature(agent).parameters,
        'Criteria': [field.name for field in fields(Criteria)],
    }
    yield from (f'{name} of {owner}' for owner, names in hooks.items() for name in names if name not in rows)


def find_chart_words() -> Missing:
    text = TEXTS['charts'].partition('## Versions')[0]
    rows = described(text)
    yield from (f'the name {name} of expressions' for name in NAMES if name not in rows)
    yield from (f'the function {name} of expressions' for name in FUNCTIONS if name not in rows)
    fence = re.compile(r'^```yaml$(.+?)^```$', re.MULTILINE | re.DOTALL)
    code = [*fence.findall(text), *CODE.findall(fence.sub('', text))]
    words = set(re.findall(r'\w+', ' '.join(code)))
    for record, schema in chart_schema()['$defs'].items():
        for name in schema.get('properties', {}).keys() - words:
            yield f'{name} of {record} in a chart'
    yield from (f'{name} of a chart' for name in ChartFile.model_fields if name not in rows)


def find_panels() -> Missing:
    rows = described(section('patterns', 'panels'))
    known = {pane.panel for pane in PANES} - {''}
    used = [field for pattern in PATTERNS.values() for field in panel_fields(pattern.sample())]
    yield from (f'the panel {name}' for name in known | {field.panel for field in used} if name not in rows)
    for field in used:
        if field.part and f'`{field.part}`' not in rows.get(field.panel, ''):
            yield f'the part {field.part} of the panel {field.panel}'


@pytest.mark.parametrize(
    'find',
    [
        find_commands,
        find_settings,
        find_variables,
        find_events,
        find_parameters,
        find_hooks,
        find_panels,
        find_chart_words,
    ],
    ids=lambda find: find.__name__.removeprefix('find_'),
)
def test_everything_offered_is_described_in_a_guide(find: Any) -> None:
    missing = sorted(set(find()))
    assert not missing, '\n'.join(f'{name} is described in no guide' for name in missing)

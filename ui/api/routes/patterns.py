"""Patterns, with their parameters, agents, samples and charts."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from engine import Conductor, InvalidInput
from engine.records import MAX_VERSION, Shape
from ui.api.dependencies import CollapseAgents, Engine, contents
from ui.api.problems import problems
from ui.api.wire import wire
from ui.formatting.diagram.rendering import export_chart
from ui.formatting.fields.parameters import PatternInfo, PatternList, describe_pattern, describe_patterns

router = APIRouter(prefix='/patterns', tags=['Patterns'])
DiagramFormat = Literal['mermaid', 'dot', 'svg']
MEDIA = {'mermaid': 'text/vnd.mermaid', 'dot': 'text/vnd.graphviz', 'svg': 'image/svg+xml'}
DRAWN = contents(*MEDIA.values())
Name = Annotated[str, Path(max_length=200, description='The name of a pattern.', examples=['pipeline'])]
Given = Annotated[
    str,
    Query(max_length=20_000, description='Parameters as a JSON object, for charts that depend on them.'),
]

Version = Annotated[
    str, Query(max_length=MAX_VERSION, description='A version of the pattern, not the current one.')
]


@router.get('', response_model=wire(PatternList))
async def list_patterns(conductor: Engine) -> PatternList:
    """List the patterns, and the files that could not be loaded."""
    await conductor.catalog.refresh()
    return describe_patterns(conductor.catalog)


@router.get('/{pattern}', response_model=wire(PatternInfo), responses=problems(404))
async def get_pattern(conductor: Engine, pattern: Name, version: Version = '') -> PatternInfo:
    """Describe a pattern: its parameters, its agents, and the events its runs accept."""
    await conductor.catalog.compile(pattern, version)
    return describe_pattern(conductor.catalog.pattern(pattern, version))


@router.get('/{pattern}/shape', response_model=wire(Shape), responses=problems(404))
async def draw(conductor: Engine, pattern: Name, parameters: Given = '', version: Version = '') -> Shape:
    """Show the chart that a run of the pattern would have with these parameters."""
    return _shape(conductor, pattern, parameters, version)


@router.get('/{pattern}/diagram', response_class=Response, responses=problems(404) | DRAWN)
async def draw_pattern(
    conductor: Engine,
    pattern: Name,
    parameters: Given = '',
    format: DiagramFormat = 'mermaid',
    folded: CollapseAgents = False,
    version: Version = '',
) -> Response:
    """Draw a pattern's chart as Mermaid, DOT or SVG."""
    return await drawing(_shape(conductor, pattern, parameters, version), format, folded=folded)


async def drawing(shape: Shape, format: DiagramFormat, *, folded: bool) -> Response:
    """Return a chart as a file. Raises `EngineError` if it cannot be drawn here."""
    return Response(await export_chart(shape, format, folded=folded), media_type=MEDIA[format])


def _shape(conductor: Conductor, pattern: str, parameters: str, version: str) -> Shape:
    try:
        values = json.loads(parameters or '{}')
    except (ValueError, RecursionError) as error:
        raise InvalidInput({'parameters': f'must be a JSON object: {error}'}) from None
    if not isinstance(values, dict):
        raise InvalidInput({'parameters': 'must be a JSON object'})
    return conductor.catalog.draw(pattern, values, version)

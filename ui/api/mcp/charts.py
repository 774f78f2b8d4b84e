"""The tools of the MCP server for charts, derived from the operations on them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from engine import Conductor
from engine.operations import Charting, Operation, Role, operations_of
from ui.api.mcp.runs import ReportProgress
from ui.api.mcp.tool_records import SteeringTool, ToolArguments
from ui.api.wire import encode


def _tool(operation: Operation, name: str) -> SteeringTool:
    """Return the tool that carries out an operation."""
    fields: dict[str, Any] = {
        each.name: (each.annotation, ... if each.default is inspect.Parameter.empty else each.default)
        for each in operation.signature.parameters.values()
    }

    async def work(conductor: Conductor, arguments: ToolArguments, report: ReportProgress) -> dict[str, Any]:
        result = await getattr(conductor.charts, operation.name)(**dict(arguments))
        if isinstance(result, list):
            return {'items': [encode(item) for item in result]}
        return {} if result is None else dict(encode(result))

    model = create_model(name, __base__=ToolArguments, __doc__=operation.summary, **fields)
    return SteeringTool(model, work, reads=operation.role is Role.VIEWER)


CHART_TOOLS: Mapping[str, SteeringTool] = {
    operation.route.id: _tool(operation, operation.route.id)
    for operation in operations_of(Charting).values()
    if operation.route
}

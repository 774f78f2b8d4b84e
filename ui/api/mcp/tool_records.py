"""Tools of the MCP server that are no patterns: their arguments, and what carries them out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from engine import Conductor
from ui.api.mcp.runs import ReportProgress


class ToolArguments(BaseModel):
    """The arguments of a tool; its docstring is what a model reads of the tool."""

    model_config = ConfigDict(extra='forbid')


Work = Callable[[Conductor, Any, ReportProgress], Awaitable[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class SteeringTool:
    """A tool that is not a pattern."""

    arguments: type[ToolArguments]
    work: Work
    reads: bool = False

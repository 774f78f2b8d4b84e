"""Tools that agents may call: one tool per file."""

from engine.tools.artifacts import ToolOutput, bullet
from engine.tools.mcp.config import McpSection, ServerHealth
from engine.tools.mcp.remote_tool import RemoteTool
from engine.tools.protocol import Tool
from engine.tools.registry import ToolRegistry, missing_requirement

__all__ = [
    'McpSection',
    'RemoteTool',
    'ServerHealth',
    'Tool',
    'ToolOutput',
    'ToolRegistry',
    'bullet',
    'missing_requirement',
]

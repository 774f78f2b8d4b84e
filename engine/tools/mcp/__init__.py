"""MCP: other programs' tools over the Model Context Protocol."""

"""MCP: tools of other programs over the Model Context Protocol."""

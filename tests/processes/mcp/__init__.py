"""Tools of MCP servers that run as separate processes."""

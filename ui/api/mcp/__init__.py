"""The MCP server: patterns as tools, runs and their artifacts as resources, steering as tools."""

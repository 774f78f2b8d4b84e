"""MCP servers for tests, and a pattern that uses one."""

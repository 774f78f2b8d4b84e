"""Tests that need other processes: the command line, servers, the sandbox, MCP servers."""

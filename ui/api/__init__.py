"""The engine's facade over HTTP: routes, live streams, their clients, and an MCP server."""

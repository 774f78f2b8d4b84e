"""The settings page: endpoints, coding agents, MCP servers, this machine, and retention."""

"""The settings page: endpoints, MCP servers, this machine, and retention."""

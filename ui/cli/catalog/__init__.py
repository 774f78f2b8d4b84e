"""Commands for what runs are made of: patterns, tools, models, MCP servers and coding agents."""

"""The built-in tools: one tool per file."""

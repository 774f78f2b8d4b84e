"""The API over HTTP, and the MCP and AG-UI servers built on it, against a conductor in memory."""

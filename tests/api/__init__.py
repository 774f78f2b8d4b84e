"""The API over HTTP, and what is built on it: MCP and AG-UI servers, against a conductor in memory."""

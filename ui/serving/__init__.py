"""The process around the pages: server, start, logs, and what it does by itself."""

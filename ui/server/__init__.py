"""The server process around the pages: web server, logs and background tasks."""

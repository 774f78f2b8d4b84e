"""The author: an agent that writes a workflow as a chart file, which is checked, tried out and saved."""

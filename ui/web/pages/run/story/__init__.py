"""The story at the top of Watch."""

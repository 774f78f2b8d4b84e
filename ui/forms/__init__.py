"""Forms drawn from pydantic models and JSON schemas, with problems said at their field."""

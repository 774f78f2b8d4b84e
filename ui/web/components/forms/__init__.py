"""Forms generated from pydantic models and JSON schemas, with problems shown at their field."""

"""Fields of forms and records, in words."""

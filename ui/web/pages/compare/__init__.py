"""The page that compares two runs step by step."""

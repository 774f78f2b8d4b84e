"""The home page: what needs a person, what runs, what came out, and the patterns."""

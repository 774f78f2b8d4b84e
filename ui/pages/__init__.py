"""The pages: one file, one page; each has `register(door)`."""

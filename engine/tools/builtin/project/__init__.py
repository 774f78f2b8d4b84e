"""Tools for projects: files, search, git, commands, tests."""

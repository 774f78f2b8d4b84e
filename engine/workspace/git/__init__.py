"""Git: agents' worktrees of a project, and merging their work into one of its branches."""

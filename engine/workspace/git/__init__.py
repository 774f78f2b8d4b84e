"""Git: agents' worktrees of a project, and merging their work into a branch of it."""

"""The screens of forks: what is otherwise in one, what it may cost, variants side by side."""

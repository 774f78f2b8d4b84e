"""Review and merge: agents' versions side by side, comments, the result, its tests, and the merge."""

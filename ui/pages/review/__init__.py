"""Review and merge: what agents made, side by side; comments, a result, its tests, and a merge."""

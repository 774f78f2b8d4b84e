"""Tools for reviewers: testing and comparing candidates, whose copies lie in the reviewer's folder."""

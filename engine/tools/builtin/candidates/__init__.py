"""Tools for reviewers: test and compare candidates, whose copies are in the reviewer's folder."""

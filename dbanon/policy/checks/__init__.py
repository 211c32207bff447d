"""Checks of a policy before a release: problems, review, people singled out."""

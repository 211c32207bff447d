"""Proposals for a policy, from the records of a table."""

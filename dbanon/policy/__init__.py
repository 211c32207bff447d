"""The policy of a table: roles and settings of its columns, hierarchies, checks and proposals."""

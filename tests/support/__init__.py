"""Helpers that tests share: connections, tables, and the number of cases."""

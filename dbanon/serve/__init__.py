"""Serving a database to other clients over DuckDB's protocol Quack, with the roles that DuckDB lacks.

Readers get what was published, from a process that holds nothing else; the custodian gets everything, from another.
"""

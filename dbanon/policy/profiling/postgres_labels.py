"""Masking rules of PostgreSQL Anonymizer as rows for dbanon.policy: what its security labels say of a table's columns.

Nothing is proposed to be published as it is: a label says what is done to a column there, not what it tells here.
"""

import re

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.source import postgres, stored_policy
from dbanon.sqltext.quote import Sql, literal_rows
from dbanon.table_functions.table_function import Call, TableFunction

_QUASI = re.compile(r"\s*(quasi|indirect)\s+identifier\s*", re.IGNORECASE)
_MASKED = re.compile(r"\s*masked\s+with\s+(function|value)\s+(.*)", re.IGNORECASE | re.DOTALL)
_GENERALIZED = re.compile(r'\s*(?:"?anon"?\s*\.\s*)?"?generalize_\w+"?\s*\(.*', re.IGNORECASE | re.DOTALL)


def role_from_label(provider: str, label: str) -> str | None:
    """The role of a column with a label; None where it says nothing about publishing it generalized or not at all.

    >>> role_from_label("k_anonymity", "QUASI IDENTIFIER")
    'quasi'
    >>> role_from_label("anon", "MASKED WITH FUNCTION anon.fake_last_name()")
    'identifier'
    >>> role_from_label("anon", "MASKED WITH FUNCTION anon.generalize_daterange(birth, 'decade')")
    'quasi'
    """
    if provider == "k_anonymity" and _QUASI.fullmatch(label):
        return "quasi"
    masked = _MASKED.fullmatch(label)
    if masked is None:
        return None
    return "quasi" if (masked[1].lower() == "function" and _GENERALIZED.fullmatch(masked[2])) else "identifier"


def policy_from_labels_sql(call: Call) -> Sql:
    """policy_from_labels(table): a row a column that is labelled; NotPostgresDatabaseError."""
    source = call.source(trusting=True)
    if source.foreign is None or source.foreign.kind != "postgres":
        raise errors.NotPostgresDatabaseError(call.function.name, source.shown)
    roles: dict[str, set[str]] = {}
    for column, provider, label in postgres.security_labels(call.cursor, source.place):
        role = role_from_label(provider, label)
        if role is not None:
            roles.setdefault(column, set()).add(role)
    schema_name, table_name = stored_policy.policy_key(source)
    rows = [
        [schema_name, table_name, column, "identifier" if "identifier" in column_roles else "quasi"]
        for column, column_roles in roles.items()
        if source.spelled(column) == column  # DuckDB renames those whose names differ by capitals alone
    ]
    return literal_rows(dict.fromkeys(("schema_name", "table_name", "column_name", "role"), "VARCHAR"), rows)


FUNCTIONS = (
    TableFunction(
        "policy_from_labels",
        ("tbl",),
        (),
        "Rows for dbanon.policy from the labels of PostgreSQL Anonymizer: quasi-identifiers and columns that it "
        "generalizes are generalized, other masked ones withheld.",
        handler=policy_from_labels_sql,
        example=Example("INSERT INTO dbanon.policy BY NAME FROM policy_from_labels('pg.public.patients');"),
    ),
)

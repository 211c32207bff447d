"""policy_from_labels('table'): turn the masking rules of PostgreSQL Anonymizer into rows for dbanon.policy.

No column is proposed to be published unchanged: a label states how a column is masked there, not what it reveals here.
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
    """Return the role that a column's security label means: quasi or identifier; None for any other label.

    A label of the provider k_anonymity marks a quasi-identifier. A column that is masked is an identifier, unless it is
    masked by a function that generalizes.

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
    """Return the SQL of policy_from_labels(table): rows for dbanon.policy, one per column with a masking label.

    A column with several labels is an identifier if one of them means so.

    Raises:
        NotPostgresDatabaseError: The table is not in an attached PostgreSQL database.
    """
    source = call.source(is_declaring=True)
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
        if source.spelled(column) == column  # DuckDB renames columns whose names differ only by case
    ]
    return literal_rows(dict.fromkeys(("schema_name", "table_name", "column_name", "role"), "VARCHAR"), rows)


FUNCTIONS = (
    TableFunction(
        "policy_from_labels",
        ("tbl",),
        (),
        "Returns rows for dbanon.policy from the labels of PostgreSQL Anonymizer: quasi-identifiers and columns that "
        "it generalizes are generalized, and other masked columns are withheld.",
        handler=policy_from_labels_sql,
        example=Example("INSERT INTO dbanon.policy BY NAME FROM policy_from_labels('pg.public.patients');"),
    ),
)

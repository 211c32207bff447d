"""Declare the parameters by which a call names related tables."""

from collections.abc import Mapping

from dbanon import errors
from dbanon.table_functions.parameter_types import Integer, Key, Tables, Text
from dbanon.table_functions.parameters import Parameter

DEFAULT_MAX_CHILDREN = 20
"""Rows of one table that are published of a person, unless the call says otherwise."""

RELATED_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "entity",
        Text("a table's name"),
        "The table with one row per person, to which the rows of this table belong. Both tables are anonymized "
        "together, so that at least k people have an equal row in that table and equal rows in this one. The keys "
        "become pseudonyms.",
    ),
    Parameter(
        "children",
        Tables(),
        "Tables whose rows belong to the people of this table (with entity: all tables of the release); they are "
        "anonymized together with it.",
    ),
    Parameter(
        "key",
        Key(),
        "With entity or children: the columns that identify the person of a row, or {'patient_id': 'id'} if they "
        "have other names in the table of people; default: as declared in dbanon.relation, or a FOREIGN KEY of the "
        "table.",
    ),
    Parameter(
        "max_children",
        Integer(1, 10**6),
        "With entity or children: greatest number of rows of one table that are published for a person; default: "
        f"{DEFAULT_MAX_CHILDREN}.",
    ),
)

RELATED_PARAMETER_NAMES = frozenset(parameter.name for parameter in RELATED_PARAMETERS)

ONE_TABLE_REASON = (
    "the command line, dbt, SQLAlchemy, and functions that work with the classes of a table support one table only",
    "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', ..., children = 'visits') makes all "
    "tables of the release",
)
"""Why several tables are refused, and what to do."""

POLICY_REASON = (
    "with entity or children, only the policies determine roles and settings of columns, so that every call for a "
    "table of the release returns the same release",
    "omit it, or UPDATE dbanon.policy",
)
"""Why a call for related tables names no columns, and what to do."""


def has_related_tables(call_values: Mapping[str, object]) -> bool:
    """Return whether a call has the parameter `entity` or `children`, by which it names related tables."""
    return call_values.get("entity") is not None or call_values.get("children") is not None


def refuse_related_tables(function: str, call_values: Mapping[str, object]) -> None:
    """Raise an error if a call uses parameters of related tables, where only one table is supported.

    Raises:
        NotSupportedForRelatedTablesError: The call names related tables.
        UnusedArgumentError: The call has `key` or `max_children` and names no related tables.
    """
    if has_related_tables(call_values):
        parameter = "entity" if call_values.get("entity") is not None else "children"
        raise errors.NotSupportedForRelatedTablesError(function, f"a release with {parameter}", *ONE_TABLE_REASON)
    for name in ("key", "max_children"):
        if call_values.get(name) is not None:
            raise errors.UnusedArgumentError(function, name, "there is neither entity nor children")

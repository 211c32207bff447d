"""Errors about related tables: a table of people, and tables with rows about them."""

from collections.abc import Sequence

from dbanon.errors.base import DbanonError, RefusedError, UsageError
from dbanon.errors.example import Example

_TABLES = (
    "CREATE TABLE people AS SELECT patient_number, sex FROM patients WHERE patient_number <= 100200;",
    "CREATE TABLE visits AS SELECT patient_number, zip, disease FROM people JOIN patients USING (patient_number);",
    "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('people', 'patient_number', 'person'), "
    "('people', 'sex', 'quasi'), ('visits', 'patient_number', 'person'), ('visits', 'zip', 'quasi');",
)
"""Two hundred people with one visit each, and their policy."""

_CALL = "FROM kacpc('visits', k = 10, entity = 'people', key = 'patient_number');"

_RELATION = (
    "INSERT INTO dbanon.relation (table_name, entity_name, key) VALUES ('visits', 'people', ['patient_number']);"
)


class NotSupportedForRelatedTablesError(UsageError):
    """A feature that is only available for a single table."""

    message = "{function}: {what} goes with one table only: {why}. Hint: {hint}."
    example = Example("FROM kacpc('visits', k = 10, qi = ['zip'], entity = 'people', key = 'patient_number');", _TABLES)


class RelationKeyMismatchError(UsageError):
    """A key in the call that differs from the one in dbanon.relation."""

    message_pattern = " dbanon.relation says that key = "
    message = (
        "{function}: of {table} and {entity} dbanon.relation says that key = {stored}, and the call says "
        "something else. Hint: leave key out, or UPDATE dbanon.relation."
    )
    example = Example(
        "FROM kacpc('visits', k = 10, entity = 'people', key = {'patient_number': 'sex'});", (*_TABLES, _RELATION)
    )


class AmbiguousRelationError(UsageError):
    """Two tables with several keys in dbanon.relation."""

    message = (
        "{function}: dbanon.relation has several keys of {table} for {entity}, in rows that spell these names "
        "differently. Hint: DELETE all but one; FROM dbanon.relation shows them."
    )
    example = Example(
        "FROM kacpc('visits', k = 10, entity = 'people');",
        (*_TABLES, _RELATION, _RELATION.replace("'visits'", "'main.visits'").replace("['patient_number']", "['zip']")),
    )


class RelationKeyNotWithheldError(RefusedError):
    """A key column of dbanon.relation that the policy does not withhold."""

    message_pattern = " says who a row is about, "
    example = Example(
        "SELECT problem FROM policy_problems() WHERE column_name = 'zip';",
        (
            *_TABLES,
            _RELATION.replace("['patient_number']", "['patient_number', 'zip']"),
            "ALTER TABLE people ADD COLUMN zip VARCHAR DEFAULT '02138';",
        ),
    )

    def __init__(self, table: str, column: str, role: str | None) -> None:
        """Build the message; `role` is the declared role of the column, None if it has none."""
        why = (
            "and has no role: where the table is released alone, ten rows of one person are ten people"
            if role is None
            else f"and its role is {role}: a key leaves as a pseudonym of a release, or not at all"
        )
        super().__init__(
            f"dbanon.relation: {table}.{column} says who a row is about, {why}. Hint: declare it person, or identifier "
            "where a key has several columns."
        )


class OverlappingReleaseError(RefusedError):
    """A release of related tables in addition to other releases of the same people."""

    message_pattern = "the same people are in "
    example = Example(
        "CREATE MATERIALIZED ANONYMIZED VIEW visits_again AS SELECT * FROM kacpc('visits', k = 10);",
        (
            *_TABLES,
            "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * "
            "FROM kacpc('people', k = 10, children = 'visits', key = 'patient_number');",
        ),
    )

    def __init__(self, name: str, others: Sequence[str], is_several: bool) -> None:
        """Build the message.

        Args:
            name: The release that is to be created.
            others: The releases with the same people.
            is_several: Whether the new release is the one of several tables, rather than one of the others.
        """
        why = (
            "and a release of several tables cannot be held against others"
            if is_several
            else "whose tables can be joined, so that nothing else of these people can be held against them"
        )
        super().__init__(
            f"{name}: the same people are in {', '.join(others)}, {why}. Hint: where no reader has that any more, DROP "
            "it and forget_release its versions; else release these people once, all tables together."
        )


class KeyTypeMismatchError(UsageError):
    """Keys of two tables that have different types."""

    message = (
        "{function}: {own} is {type_} and {entity}.{key} is {key_type}, and cannot be compared as keys. "
        "Hint: a view that casts one of them, or other columns in key = {{'patient_id': 'id'}}."
    )
    example = Example(
        "FROM kacpc('visits', k = 10, entity = 'people', key = {'zip': 'patient_number'});",
        (
            *_TABLES,
            "UPDATE dbanon.policy SET role = 'quasi' WHERE table_name = 'visits' AND column_name = 'patient_number';",
            "DELETE FROM dbanon.policy WHERE table_name = 'visits' AND column_name = 'zip';",
        ),
    )


class InvalidKeyColumnError(RefusedError):
    """A key that is published, or does not identify the person that the policy names."""

    message = "{function}: {table}.{column} cannot be the key: {why}. Hint: {hint}."
    example = Example("FROM kacpc('visits', k = 10, entity = 'people', key = {'patient_number': 'sex'});", _TABLES)


class OtherColumnInChildTableError(RefusedError):
    """A column with the role insensitive in a table with many rows per person."""

    message = (
        "{function}: {table}.{column} is declared insensitive: values of several rows of a person together tell people "
        "apart where single ones do not. Hint: UPDATE dbanon.policy and declare it quasi or sensitive, or DELETE "
        "its row there, which withholds it."
    )
    example = Example(
        _CALL,
        (
            *_TABLES,
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('visits', 'disease', 'insensitive');",
        ),
    )


class NullKeyError(DbanonError):
    """Rows of the table of people whose key is NULL."""

    message_pattern = " without a key"
    message = "{function}: {table} has rows without a key ({key:list} is NULL): {count}. Hint: a view without them."
    example = Example(_CALL, (*_TABLES, "INSERT INTO people VALUES (NULL, 'F');"))


class DuplicateKeyError(DbanonError):
    """Several rows of one person in the table of people."""

    message_pattern = " has keys of several rows "
    message = (
        "{function}: {table} has keys of several rows ({key:list}): {count}. Hint: a row is a person there; name the "
        "table of people as entity and the one with many rows a person in children."
    )
    example = Example(_CALL, (*_TABLES, "INSERT INTO people FROM people LIMIT 1;"))


class OrphanRowsError(DbanonError):
    """Rows about persons who are not in the table of people."""

    message_pattern = " about nobody in "
    message = (
        "{function}: {table} has rows about nobody in {entity} ({key:list} is NULL or not there): {count}. Hint: a "
        "view without them."
    )
    example = Example(_CALL, (*_TABLES, "INSERT INTO visits VALUES (1, '02138', 'Asthma');"))

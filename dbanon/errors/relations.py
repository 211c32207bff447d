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

    message = "{function}: {what} is for one table only: {why}. Hint: {hint}."
    example = Example("FROM kacpc('visits', k = 10, qi = ['zip'], entity = 'people', key = 'patient_number');", _TABLES)


class RelationKeyMismatchError(UsageError):
    """A key in the call that differs from the one in dbanon.relation."""

    message = (
        "{function}: for {table} and {entity}, dbanon.relation has key = {stored}, and the call has another key. "
        "Hint: omit key, or UPDATE dbanon.relation."
    )
    example = Example(
        "FROM kacpc('visits', k = 10, entity = 'people', key = {'patient_number': 'sex'});", (*_TABLES, _RELATION)
    )


class AmbiguousRelationError(UsageError):
    """Two tables with several keys in dbanon.relation."""

    message = (
        "{function}: dbanon.relation has several keys from {table} to {entity}, in rows that spell these names "
        "differently. Hint: DELETE all but one; FROM dbanon.relation shows them."
    )
    example = Example(
        "FROM kacpc('visits', k = 10, entity = 'people');",
        (*_TABLES, _RELATION, _RELATION.replace("'visits'", "'main.visits'").replace("['patient_number']", "['zip']")),
    )


class RelationKeyNotWithheldError(RefusedError):
    """A key column of dbanon.relation that the policy does not withhold."""

    message_pattern = " is a key that identifies the person of a row, "
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
            "but has no role: if the table is released alone, ten rows of one person count as ten people"
            if role is None
            else f"but its role is {role}: a key may be published only as a pseudonym"
        )
        super().__init__(
            f"dbanon.relation: {table}.{column} is a key that identifies the person of a row, {why}. Hint: declare it "
            "person, or identifier if the key has several columns."
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
            "and a release of several tables cannot be compared with others"
            if is_several
            else "whose tables can be joined, so another release of these people cannot be compared with them"
        )
        super().__init__(
            f"{name}: the same people are in {', '.join(others)}, {why}. Hint: if no reader has that release any "
            "more, DROP it and use forget_release for its versions; otherwise release these people once, all tables "
            "together."
        )


class KeyTypeMismatchError(UsageError):
    """Keys of two tables that have different types."""

    message = (
        "{function}: {own} is {type_} and {entity}.{key} is {key_type}, so they cannot be compared as keys. Hint: "
        "cast one of them in a view, or name other columns in key = {{'patient_id': 'id'}}."
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
        "{function}: {table}.{column} is declared insensitive: the values of several rows of a person, taken "
        "together, distinguish people even if single values do not. Hint: UPDATE dbanon.policy and declare it quasi "
        "or sensitive, or DELETE its row there, which withholds it."
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

    message = (
        "{function}: {table} has rows without a key ({key:list} is NULL): {count}. Hint: read a view without them."
    )
    example = Example(_CALL, (*_TABLES, "INSERT INTO people VALUES (NULL, 'F');"))


class DuplicateKeyError(DbanonError):
    """Several rows of one person in the table of people."""

    message = (
        "{function}: {table} has keys that occur in several rows ({key:list}): {count}. Hint: this table must have "
        "one row per person; name the table of people as entity and the table with many rows per person in children."
    )
    example = Example(_CALL, (*_TABLES, "INSERT INTO people FROM people LIMIT 1;"))


class OrphanRowsError(DbanonError):
    """Rows about persons who are not in the table of people."""

    message = (
        "{function}: {table} has rows about no person in {entity} ({key:list} is NULL or missing there): {count}. "
        "Hint: read a view without them."
    )
    example = Example(_CALL, (*_TABLES, "INSERT INTO visits VALUES (1, '02138', 'Asthma');"))

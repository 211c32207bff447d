"""Errors about columns, roles and the policy."""

from collections.abc import Collection, Iterable, Sequence

from dbanon.errors import renamed_names
from dbanon.errors.base import DbanonError, RefusedError, UsageError, did_you_mean, format_names
from dbanon.errors.example import FEW, SHAPES, Example, Situation
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import text


class UnknownColumnError(DbanonError):
    """A column that the table does not have."""

    example = Example("FROM kacpc('patients', k = 10, qi = ['zipp']);")

    def __init__(self, function: str, table: str, column: str, location: str, columns: Collection[str]) -> None:
        """Build the message, with the most similar column of the table as a hint.

        Args:
            function: The function that was called.
            table: The table.
            column: The column that was given.
            location: Where it was given, such as a parameter.
            columns: All columns of the table.
        """
        super().__init__(
            f"{function}: {table} has no column '{column}' (named in {location}).{did_you_mean(column, columns)} "
            f"Columns: {format_names(columns)}."
        )


class UnknownRoleError(DbanonError):
    """A role in dbanon.policy that does not exist."""

    example = Example(
        "FROM kacpc('few', k = 10);",
        (FEW, "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'zip', 'qausi');"),
    )

    def __init__(self, table: str, column: str, role: str, roles: Collection[str]) -> None:
        """Build the message; the hint is the new name of a renamed role, or else the most similar accepted role."""
        current = renamed_names.ROLES.get(role.lower())
        hint = did_you_mean(role, roles) if current is None else renamed_names.renamed_hint(role, current)
        super().__init__(f"{table}.{column}: there is no role '{role}'.{hint} Accepted: {', '.join(roles)}.")


class ConflictingRolesError(DbanonError):
    """A column with two roles in one call or in the policy."""

    message = "{function}: {table}.{column} is in two roles: {roles:and}. Hint: give each column one role."
    example = Example("FROM kacpc('few', k = 10, qi = ['zip'], sensitive = ['zip']);", (FEW,))


class LoosensPolicyError(RefusedError):
    """A call that asks for less protection than the policy declares."""

    message = (
        "{function}: {table}.{column} is declared {declared} in dbanon.policy, but the call asks for {asked}, which "
        "would loosen the policy. Hint: a call may only tighten the policy; UPDATE dbanon.policy to change it."
    )
    example = Example("FROM kacpc('patients', k = 10, sensitive = ['name']);")


class BoundOffGridError(RefusedError):
    """A bound in the call that lies within a cell of the column's grid."""

    message = (
        "{function}: {table}.{column} is published with the rounding {rounding} of dbanon.policy, and {setting} = "
        "{value} of the call lies inside an interval of it, so that values of one interval could be distinguished. "
        "Hint: give a top or lower bound at the start of an interval, a bottom or upper bound at the end of one, or "
        "declare another grid, or this top or bottom, in dbanon.policy."
    )
    example = Example(
        "FROM kacpc('few', k = 10, top = {'born': '1980-05-17'});",
        (
            "CREATE TABLE few AS SELECT DATE '1980-01-01' + i::INTEGER AS born FROM range(200) AS r (i);",
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'born', 'quasi');",
        ),
    )


QUERY_LABEL = "the query"
"""How messages name a query that is no table, such as a `select()` of SQLAlchemy."""


class UndeclaredColumnError(RefusedError):
    """A call that publishes a column without a role in the table's policy."""

    message = (
        "{function}: {subject} has no role, so it is withheld, but the call asks for {asked}, which would loosen the "
        "policy. Hint: a call may only tighten the policy; to publish the column, {remedy}."
    )

    def __init__(self, function: str, table: str, column: str, role: str) -> None:
        """Build the message; `role` is the one that the call asks for.

        The columns of a query have the roles of the columns of its tables.
        """
        if table == QUERY_LABEL:
            subject = f"{column} of {table}"
            remedy = f"select it unchanged from a table in whose policy and mapped class it has the role {role}"
        else:
            subject, row = f"{table} has a policy in which {column}", ", ".join(map(text, (table, column, role)))
            remedy = f"INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ({row})"
        super().__init__(function, subject, role, remedy)

    example = Example(
        "FROM kacpc('few', k = 10, insensitive = ['zip']);",
        (FEW, "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi');"),
    )


class ViewOverPolicyError(RefusedError):
    """A view without a policy that reads a table with one."""

    message = (
        "{function}: {view} has no policy of its own and reads {table}, which has one: a call must not publish "
        "through a view what the policy of {table} withholds. Hint: declare the columns of the view too, INSERT INTO "
        "dbanon.policy (table_name, column_name, role) VALUES ({view:sql}, {column:sql}, 'identifier'), ... with the "
        "role that each column has."
    )
    example = Example(
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        ("CREATE VIEW women AS SELECT zip, disease FROM patients WHERE sex = 'F';",),
    )


class OfflineMigrationError(UsageError):
    """A migration that creates or drops an anonymized view, written as SQL without a database."""

    message = (
        "{operation}: {name} cannot be written as SQL (alembic upgrade --sql), because its policy and its ledger are "
        "checked in the database. Hint: run the migration on the database, without --sql."
    )
    example = Situation(
        "It is raised by `alembic upgrade --sql` for a migration with `op.create_anonymized_view` or "
        "`op.drop_anonymized_view`; Alembic prints its message.",
        ("create_anonymized_view", "safe_patients"),
    )


class PolicyMissingError(DbanonError):
    """A call without a quasi-identifier, for a table without a policy."""

    example = Example("FROM kacpc('few', k = 10);", (FEW,))

    def __init__(self, function: str, table: str, suggested: str | None) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            table: The source; QUERY_LABEL if it is a query.
            suggested: A column of the source that the hint uses as an example of a quasi-identifier; None if there is
                none.
        """
        column = suggested or "..."
        in_call = f"qi = [{text(column) + ', ...' if suggested else '...'}]"
        hint = (
            "select columns of a mapped class or Table that have the role quasi() there; if the query reads no table "
            f"with a policy, you can name the columns in the call, {in_call}"
            if table == QUERY_LABEL
            else f"declare its policy, INSERT INTO dbanon.policy (table_name, column_name, role) VALUES "
            f"({text(table)}, {text(column)}, 'quasi'), ... (FROM profile({text(table)}) proposes a policy); or name "
            f"the columns in the call, {in_call}"
        )
        super().__init__(f"{function}: no quasi-identifier is declared for {table}. Hint: {hint}.")


class UnsupportedTypeError(DbanonError):
    """A quasi-identifier whose type cannot be generalized."""

    message = (
        "{function}: {table}.{column} has the type {type_}, which cannot be a quasi-identifier. Hint: extract a "
        "column of numbers, dates, times, text, booleans, enums or UUIDs in a view, or withhold it."
    )
    example = Example("FROM kacpc('shapes', k = 10, qi = ['zips']);", (SHAPES,))


class UnsupportedPersonError(DbanonError):
    """A person column whose type cannot reliably identify people."""

    message = (
        "{function}: {table}.{column} has the type {type_}, which cannot identify persons. Hint: use a column of "
        "numbers, dates, times, text, booleans, enums or UUIDs, or create one in a view."
    )
    example = Example("FROM kacpc('shapes', k = 10, qi = ['gender'], person = 'zips');", (SHAPES,))


class CollatedColumnError(DbanonError):
    """A person or sensitive column with a collation under which different texts are equal."""

    example = Example(
        "FROM kacpc('notes', k = 3, qi = ['age'], sensitive = ['disease']);",
        ("CREATE TABLE notes AS SELECT 40 + i AS age, 'flu' COLLATE NOCASE AS disease FROM range(9) AS r (i);",),
    )

    def __init__(self, function: str, table: str, columns: Sequence[str]) -> None:
        """Build the message; the hint is a SELECT that removes the collation of `columns`."""
        repaired = ", ".join(f"{column} COLLATE POSIX AS {column}" for column in columns)
        super().__init__(
            f"{function}: the collation of {table}.{', '.join(columns)} treats texts such as 'a' and 'A' as equal, "
            "but k and l would count each spelling. Hint: use one spelling and publish a view without the collation: "
            f"SELECT * REPLACE ({repaired}) FROM {table}."
        )


class RepeatedIdentifierError(DbanonError):
    """An identifier with repeated values that may identify people; policy_problems reports it."""

    example = Example(
        "SELECT problem, statement FROM policy_problems();",
        (
            "CREATE TABLE visits AS FROM patients WHERE patient_number <= 100200 "
            "UNION ALL FROM patients WHERE patient_number <= 100200;",
            "INSERT INTO dbanon.policy (table_name, column_name, role) "
            "VALUES ('visits', 'patient_number', 'identifier');",
        ),
    )

    def __init__(self, table: str, column: str, count: object, can_be_person: bool) -> None:
        """Build the message.

        Args:
            table: The table.
            column: The identifier.
            count: The number of values that occur in several rows.
            can_be_person: Whether the type of the column allows the role person; otherwise the hint proposes a view.
        """
        declare = (
            "run the statement next to this message"
            if can_be_person
            else "convert it to text in a view and declare that column as person"
        )
        super().__init__(
            f"{table}.{column}: {count} {plural_form(count, 'value', 'values')} of this identifier "
            f"{plural_form(count, 'occurs', 'occur')} in more than one row, and no column has the role person, so k "
            f"counts records. Hint: names repeat by chance; if a value always belongs to one person, "
            f"{declare}."
        )


class UniqueByUnchangedColumnsError(DbanonError):
    """Unchanged columns whose values identify people, whatever k is; policy_problems reports it."""

    example = Example(
        "SELECT problem FROM policy_problems();",
        (
            "CREATE TABLE incomes AS SELECT 20 + i % 3 AS age, 1000 + i AS income FROM range(50) AS r (i);",
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('incomes', 'income', 'sensitive');",
        ),
    )

    def __init__(self, table: str, columns: Iterable[str], count: object, has_persons: bool) -> None:
        """Build the message.

        Args:
            table: The table.
            columns: The columns that are published unchanged.
            count: The number of records that share all values of these columns with no other person or record.
            has_persons: Whether the table has a person column, so that persons are compared rather than records.
        """
        super().__init__(
            f"{table}: {count} {plural_form(count, 'record shares', 'records share')} all values of "
            f"{', '.join(columns)} with no other "
            f"{'person' if has_persons else 'record'}, and these columns are published unchanged: anyone who knows "
            "the values finds the record in every release, for any k. Hint: withhold some of these columns, make them "
            "quasi, or coarsen them."
        )


class PersonSpellingsError(DbanonError):
    """Person ids that differ only in spelling; policy_problems reports it, and calls warn of it."""

    message = (
        "{table}.{column}: {count} person {count:id differs|ids differ} from another one only by blanks, case or "
        "leading zeros, and each "
        "spelling counts as a person, so a class of k persons may contain fewer. Hint: if they are the same people, "
        "spell each id in one way, in the table or in a view, and use that."
    )
    example = Example(
        "SELECT problem FROM policy_problems();",
        (
            "CREATE TABLE stays AS SELECT ['p', 'P'][i % 2 + 1] || i // 2 AS patient,\n"
            "20 + i % 9 AS age FROM range(80) AS r (i);",
            "INSERT INTO dbanon.policy (table_name, column_name, role)\n"
            "VALUES ('stays', 'patient', 'person'), ('stays', 'age', 'quasi');",
        ),
    )


class ValueSpellingsError(DbanonError):
    """Spellings of one value in a sensitive column; policy_problems reports it."""

    message = (
        "{table}.{column}: {count} {count:value differs|values differ} from another one only by case, blanks or the "
        "form of accents, and "
        "each spelling counts as a value, so l and other models find more diversity than there is. Hint: spell each "
        "value in one way, as the statement does."
    )
    example = Example(
        "SELECT problem FROM policy_problems();",
        (
            "CREATE TABLE stays AS SELECT 20 + i % 9 AS age, ['HIV', 'hiv', 'flu'][i % 3 + 1] AS disease\n"
            "FROM range(90) AS r (i);",
            "INSERT INTO dbanon.policy (table_name, column_name, role)\n"
            "VALUES ('stays', 'disease', 'sensitive'), ('stays', 'age', 'quasi');",
        ),
    )


class UndoneLimitError(DbanonError):
    """A limit of the policy that another published column undoes; policy_problems reports it."""

    message = (
        "{table}.{column}: its limit ({limit}) has no effect because of the column {other}, which is published {how}: "
        "records with the same {other} mostly have the same value of {column}, which the limit should hide. Hint: "
        "withhold {other}, or give it a limit as coarse as that of {column}."
    )
    example = Example(
        "SELECT problem FROM policy_problems();",
        (
            "CREATE TABLE elderly AS SELECT 20 + i % 80 AS age, 2004 - i % 80 AS birth_year FROM range(800) AS r (i);",
            "INSERT INTO dbanon.policy (table_name, column_name, role, top)\n"
            "VALUES ('elderly', 'age', 'quasi', '90'), ('elderly', 'birth_year', 'quasi', NULL);",
        ),
    )


class RareCombinationError(RefusedError):
    """Values of `insensitive` columns that together single people out."""

    message_pattern = r"have the role insensitive \(published unchanged\)( or are computed from columns)?, and "
    example = Example(
        "FROM kacpc('goods', k = 10, qi = ['age'], insensitive = ['product', 'shop']);",
        (
            "CREATE TABLE goods AS\n"
            "SELECT 20 + i % 3 AS age, i % 10 AS product, i // 10 % 10 AS shop FROM range(200) AS r (i);",
        ),
    )

    def __init__(
        self, function: str, table: str, columns: Iterable[str], count: object, k: int, with_transformed: bool = False
    ) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            table: The source.
            columns: The columns that are published unchanged.
            count: The number of combinations of their values that fewer than k records (persons) have.
            k: The parameter k of the call.
            with_transformed: Whether some of the columns are transformed (masks or shifts).
        """
        columns = list(columns) or [""]
        super().__init__(
            f"{function}: {format_names(columns)} of {table} have the role insensitive (published "
            f"unchanged){' or are computed from columns' if with_transformed else ''}, and {count} "
            f"{plural_form(count, 'combination', 'combinations')} of their values "
            f"{plural_form(count, 'belongs', 'belong')} to fewer than k = {k} records (persons). Hint: make some "
            f"quasi, withhold some, or "
            f"accept the risk of a column with allow_rare = ['{columns[-1]}']."
        )


class UnsupportedSettingError(DbanonError):
    """A generalization setting that does not fit the column."""

    message = "{function}: {setting} does not fit {table}.{column}: {why}"
    example = Example("FROM kacpc('few', k = 10, qi = ['zip'], top = {'zip': 90});", (FEW,))


class RareValueError(RefusedError):
    """Values of an `insensitive` column that single people out."""

    message_pattern = r"has the role (insensitive \(published unchanged\)|mask|shift) and "
    example = Example("FROM kacpc('few', k = 10, qi = ['sex'], insensitive = ['patient_number']);", (FEW,))

    def __init__(
        self, function: str, table: str, column: str, count: object, k: int, role: str = "insensitive"
    ) -> None:
        """Build the message; for the roles mask and shift, `count` is a number of published, not stored values."""
        role_text = "insensitive (published unchanged)" if role == "insensitive" else role
        values_text = "of its values" if role == "insensitive" else "of the values that it publishes"
        super().__init__(
            f"{function}: {table}.{column} has the role {role_text} and {count} {values_text} "
            f"{plural_form(count, 'belongs', 'belong')} to fewer than k "
            f"= {k} records (persons). Hint: make it quasi, withhold it, or accept the risk with allow_rare = "
            f"['{column}']."
        )


class RareAfterSuppressionError(RefusedError):
    """Values of an `insensitive` column that are rare once outliers are suppressed."""

    message = (
        "{function}: {table}.{column} would be published unchanged, and without the suppressed outliers, {count} of "
        "its values {count:belongs|belong} to fewer than k = {k} records (persons). Hint: lower suppress, withhold "
        "the column, or "
        "accept the risk with allow_rare = ['{column}']."
    )
    example = Example(
        "FROM kacpc('towns', k = 4, qi = ['age'], insensitive = ['town'], suppress = 0.15);",
        (
            "CREATE TABLE towns AS\n"
            "SELECT 20 + i % 3 AS age, IF(i = 1, 'Salem', 'Boston') AS town FROM range(40) AS r (i)\n"
            "UNION ALL SELECT 90 * i, 'Salem' FROM range(1, 5) AS r (i);",
        ),
    )


class PolicyChangedError(DbanonError):
    """A policy that changed between planning and execution."""

    outcome = "busy"
    message = (
        "{function}: the policy of {table} changed after this statement was planned, or is changed in the "
        "open transaction. Hint: commit first, then run (or prepare) the statement again."
    )
    example = Example(
        "FROM kacpc('patients', k = 10);", ("BEGIN;", "DELETE FROM dbanon.policy WHERE column_name = 'zip';")
    )

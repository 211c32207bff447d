"""Errors about records that cannot be anonymized, interrupted statements, and the release gate."""

from dbanon.errors.base import DbanonError, RefusedError, UsageError
from dbanon.errors.example import FEW, SHAPES, Example, Situation
from dbanon.sqltext.messages import plural_form

_WIDE = """CREATE TABLE wide AS
SELECT patient_number % 4 AS a, a AS b, a AS c, a AS d, a AS e, a AS f, a AS g, a AS h, a AS i, a AS j, a AS m, sex
FROM patients;"""
"""Eleven numbers of four values each: three levels."""


class HierarchyNotStoredError(DbanonError):
    """A hierarchy that is not stored in the current database."""

    message = (
        "{function}: no hierarchy '{name}' is stored in dbanon.hierarchy. Hint: store it with INSERT INTO "
        "dbanon.hierarchy FROM hierarchy_builtin('name') or FROM hierarchy_from_file('name', 'file.csv')."
    )
    example = Example("SELECT covers('Boston', '02138', 'zip55');")


class NoCommonQuasiIdentifiersError(DbanonError):
    """A release without any quasi-identifier of its source."""

    message = (
        "{function}: {release} has none of the quasi-identifiers of {table}: {columns:names}. Hint: name the table "
        "that was released, or columns that both have, qi = ['age', ...]."
    )
    example = Example(
        "FROM query_error('diseases', 'patients');", ("CREATE TABLE diseases AS SELECT disease FROM patients;",)
    )


class TooManyTargetValuesError(DbanonError):
    """A target column with more values than a model can learn to distinguish."""

    message = (
        "{function}: {table}.{column} has {count} values; a model learns to distinguish at most {most}. Hint: name "
        "another target, or a released column with groups of its values."
    )
    example = Example(
        "FROM ml_utility('numbered', 'few', qi = ['sex'], target = 'patient_number');",
        (
            "CREATE TABLE few AS FROM patients LIMIT 150;",
            "CREATE TABLE numbered AS SELECT sex, patient_number FROM few;",
        ),
    )


class TooFewTrainingRecordsError(DbanonError):
    """A target column with too few known values to train and test a model."""

    message = (
        "{function}: {table}.{column} has a value in fewer than two records of the source, or in none of the release. "
        "Hint: name a target that has values in both."
    )
    example = Example("FROM ml_utility('shapes', 'shapes', qi = ['gender'], target = 'nothing');", (SHAPES,))


class UnparsablePublishedValueError(DbanonError):
    """Values of a release that cannot be parsed as published values of the source's column."""

    message = (
        "{function}: {count} distinct {count:value|values} of {release}.{column} {count:does|do} not have a "
        "published form. Accepted: {forms}, and *. Hint: name the release of this source, or omit the column with qi "
        "= [...]."
    )
    example = Example(
        "FROM query_error('vague', 'patients', qi = ['birth_date']);",
        ("CREATE TABLE vague AS SELECT 'about 1950' AS birth_date FROM patients;",),
    )


class ComparisonTableMismatchError(UsageError):
    """A table for the results of a comparison that contains something else."""

    message = (
        "compare: {table} contains {holds}, not this comparison. Hint: name another table, or give the parameters "
        "with which it was created; algorithms, k, n_quasi_identifiers and sample_sizes may differ."
    )
    example = Example(
        'dbanon.compare(con, "few", into="visits", k=[5], qi=["sex"])',
        (FEW, "CREATE TABLE visits (day DATE);"),
        "python",
    )


class TooFewRecordsError(RefusedError):
    """A table with at most one record of a known person, which meets no k."""

    message = (
        "{function}: {table} has {count} {unit} to publish, and k-anonymity needs at least two. Hint: name a table "
        "with more records; no k is possible here."
    )
    example = Example("FROM kacpc('one', k = 2, qi = ['sex']);", ("CREATE TABLE one AS FROM patients LIMIT 1;",))


class FewerThanKError(RefusedError):
    """Records (or persons) to cluster that are fewer than k, so that no class can be made of them."""

    message = "{function}: {count} {unit} cannot form a class of k = {k}. Hint: wait for more records, or lower k."
    example = Situation(
        "It is raised by a refresh that keeps classes and allows small differences: the new records must form classes "
        "of their own. `CannotKeepClassesError` quotes it.",
        ("best", 3, "records", 10),
    )


class MaxLevelBlockTooSmallError(RefusedError):
    """A max_level that separates groups of records that cannot meet the privacy model."""

    message = (
        "{function}: max_level of {columns:list} separates {rows} {rows:record|records} into groups that cannot meet "
        "{model}. Hint: raise max_level, weaken the model, or set suppress to at least the share of these records."
    )
    example = Example(
        "FROM kacpc('shapes', k = 60, qi = ['gender'], hierarchies = {'gender': 'sex'}, max_level = {'gender': 0});",
        (SHAPES,),
    )


class CoarsenAboveMaxLevelError(DbanonError):
    """A max_level that forbids the nodes that `round` requires."""

    message = (
        "{function}: coarsen of {column} requires nodes above max_level: for some values, the highest node that "
        "max_level allows is not a multiple of {round_} steps from the root. Hint: raise max_level, or change coarsen."
    )
    example = Example(
        "FROM kacpc('few', k = 10, qi = ['zip'], hierarchies = {'zip': 'zip5'}, max_level = {'zip': 1}, "
        "coarsen = {'zip': 3});",
        (FEW,),
    )


class TableTooLargeError(DbanonError):
    """A table on which an algorithm would take very long."""

    message = (
        "{function}: {tuples} distinct tuples in {clusters} clusters take {time} on this machine. Hint: max_partition "
        "= 20000 clusters parts of that many tuples one by one; allow_slow = true runs it anyway; mondrian is fast on "
        "tables of this size."
    )
    example = Situation(
        "It is raised by algorithms whose time can grow with the square of the table, if the estimate exceeds a "
        "minute or two. The estimate is made from the first clusters.",
        ("kmember", 1_000_000, 100_000, "some 40 minutes"),
    )


class TooManyLevelsError(DbanonError):
    """Attributes with more combinations of levels than are searched."""

    message = (
        "{function}: the quasi-identifiers and their subsets have {nodes} combinations of levels; at most {most} are "
        "searched. Hint: give numbers hierarchies of few levels, use fewer quasi-identifiers, or omit base = "
        "'incognito'."
    )
    example = Example(
        "FROM ldiversity_mondrian('wide', k = 2, qi = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'm'], "
        "sensitive = ['sex'], base := 'incognito');",
        (_WIDE,),
    )


class ModelNotMetError(RefusedError):
    """A table that does not meet a privacy model even as a single class."""

    message = (
        "{function}: all records together do not meet {model} on {column}; the most that they allow is {best}. Hint: "
        "weaken the model, or withhold the column."
    )
    example = Example("FROM kacpc('shapes', k = 10, qi = ['gender'], sensitive = ['star'], l = 5);", (SHAPES,))


class SensitiveColumnMissingError(DbanonError):
    """A model of sensitive values for a table without a sensitive column."""

    message = (
        "{function}: {parameter} needs a sensitive column, and {table} has none. Hint: name one with sensitive = "
        "['disease'], or give it the role sensitive in dbanon.policy."
    )
    example = Example("FROM kacpc('few', k = 10, qi = ['zip'], l = 2);", (FEW,))


class SensitiveHierarchyMissingError(DbanonError):
    """A distance or an attack that needs a hierarchy of a column that has none."""

    example = Example("FROM kacpc('patients', k = 10, t = 0.3, ground_distance = 'hierarchical');")

    def __init__(
        self, function: str, table: str, column: str, feature: str = "ground_distance = 'hierarchical'"
    ) -> None:
        """Build the message; `feature` is what needs the hierarchy, as text."""
        super().__init__(
            f"{function}: {feature} needs a hierarchy of {table}.{column}. Hint: name one with hierarchies = "
            f"{{'{column}': 'name'}}, or in the column hierarchy of dbanon.policy."
        )


class ColumnAllNullError(DbanonError):
    """A quasi-identifier that is NULL in every row."""

    message = "{function}: {table}.{column} is NULL in every row. Hint: withhold the column or drop it from qi."
    example = Example("FROM kacpc('shapes', k = 10, qi = ['nothing']);", (SHAPES,))


class UnexpectedNullError(DbanonError):
    """A NULL in spite of nulls := 'error'. For a stream (`is_stream`) the hint differs: it cannot drop rows."""

    example = Example(
        "FROM fads('shapes', k = 10, delta = 100, order_by = 'star', qi = ['sex'], nulls = 'error');", (SHAPES,)
    )

    def __init__(self, function: str, table: str, column: str, count: object, is_stream: bool = False) -> None:
        """Build the message; `is_stream` selects the hint for streams, which cannot drop rows."""
        alternative = "a view without these rows" if is_stream else "nulls = 'drop'"
        super().__init__(
            f"{function}: {table}.{column} is NULL in {count} {plural_form(count, 'row', 'rows')}, which nulls = "
            f"'error' does "
            f"not accept. Hint: use nulls = 'keep' or {alternative}."
        )


class NonFiniteValueError(DbanonError):
    """NaN or an infinity in a quasi-identifier."""

    message = (
        "{function}: {table}.{column} is NaN or infinite in {count} {count:row|rows}; such a value belongs to no "
        "interval. "
        "Hint: turn it into NULL in a view, or filter these rows."
    )
    example = Example("FROM kacpc('shapes', k = 10, qi = ['weight']);", (SHAPES,))


class StatementInterruptedError(DbanonError):
    """A statement that was interrupted by Ctrl-C or interrupt() while clustering."""

    outcome = "interrupted"
    message = "{function}: interrupted. Nothing was released."
    example = Situation(
        "It is raised when you press Ctrl-C, or call con.interrupt() from another thread, during clustering.",
        ("kacpc",),
    )


class GateRefusedError(RefusedError):
    """A result that the release gate found not to be what it claims."""

    message = (
        "{function}: the release gate refused the result: {what} ({count}). Nothing was released. This is a defect of "
        "the algorithm. Hint: report it with the call."
    )
    example = Situation(
        "It is raised if an algorithm has a defect: the gate checks every result again and returns no row that fails.",
        ("kacpc", "records are in classes below k", 3),
    )


class NullInOrderByError(DbanonError):
    """A record of a stream whose position is NULL."""

    message = (
        "{function}: {table}.{column} has NULLs, but it states the order in which records arrive. Hint: read a view "
        "without them, or name another column in order_by."
    )
    example = Example("FROM fads('shapes', k = 10, delta = 100, order_by = 'sex', qi = ['gender']);", (SHAPES,))

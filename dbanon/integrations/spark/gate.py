"""The release gate on Spark: check the released rows against the source, the policy and the privacy models.

It counts with Spark and uses the messages of DuckDB's gate. It uses nothing of the clustering, and no row can be read
before all checks have passed.
"""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, functions as fn

from dbanon import errors
from dbanon.gate.messages import RELEASE_CHECKS
from dbanon.integrations.spark import recount
from dbanon.integrations.spark.columns import is_hashed, quoted_column, shown_values, struct_field
from dbanon.integrations.spark.executor_tasks import count_uncovered, measure_models
from dbanon.integrations.spark.release import UncheckedRelease
from dbanon.integrations.spark.session_call import TableCounts
from dbanon.release.plan import plan


def check_release(release: UncheckedRelease, released_rows: DataFrame) -> dict[int, float]:
    """Check a release before any of its rows can be read; return the value of the worst class for each privacy model.

    The result is by the model's number in the call. -1 is the least number of persons in a class, if there is a person
    column. k itself is checked and not in the result.

    Args:
        release: The release.
        released_rows: Its rows as they can be read later.

    Raises:
        GateRefusedError: The rows do not follow from the source, the policy and the privacy models.
        RareValueError: An unchanged value is too rare.
        RareCombinationError: A combination of unchanged values is too rare.
        PartitionFailedError: A part of the rows could not be checked.
    """
    _check_columns(release, released_rows)
    _check_records(release, released_rows)
    _check_classes(release, released_rows)
    _check_coverage(release, released_rows)
    _check_rare_values(release)
    recount.check_rows(release, released_rows)
    achieved = _check_models(release)
    _check_models_measured(release, achieved)
    return achieved


def _refuse(release: UncheckedRelease, check_name: str, count: object) -> None:
    """Raise GateRefusedError with the message of the check `check_name` and the number of faults.

    `check_name` is a key of RELEASE_CHECKS. The error is raised whatever `count` is.
    """
    raise errors.GateRefusedError(release.call.function, RELEASE_CHECKS[check_name][0], count)


def _check_columns(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Raise GateRefusedError unless the released columns are exactly those that the policy permits, in their order."""
    expected, _ = plan.published_names(release.spec)
    if tuple(released_rows.columns) != expected:
        _refuse(release, "columns", len(released_rows.columns))


def _row_hash(rows: DataFrame, names: list[str], struct: str | None = None) -> Column:
    """Return a column with a hash of the named values of each row, as a decimal that can be summed.

    Values that Spark cannot hash (maps, intervals, variants) are hashed as JSON. Without names the hash is 0.

    Args:
        rows: The rows.
        names: The names of the columns to hash.
        struct: The struct column whose fields the names are; None for columns of `rows`.
    """
    schema = rows.schema[struct].dataType if struct else rows.schema
    columns = [struct_field(struct, name) if struct else quoted_column(name) for name in names]
    hashed = [
        column if is_hashed(schema[name].dataType) else fn.to_json(fn.struct(column.alias("v")))
        for name, column in zip(names, columns, strict=True)
    ]
    return (fn.xxhash64(*hashed) if hashed else fn.lit(0)).cast("decimal(38,0)")


def _check_records(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Compare source, assignments and released rows by counts and sums of hashes.

    Raise GateRefusedError if they differ.

    Required are:
    - Every source record is assigned once.
    - At most as many records are suppressed as the call allows.
    - The unchanged values of each class are those of the records assigned to it.
    """
    columns_read = release.planner.read_columns
    source_totals = release.rows.agg(
        fn.count(fn.lit(1)), fn.sum(_row_hash(release.rows, columns_read, "own"))
    ).collect()[0]
    assigned_totals = release.assignments.agg(
        fn.sum("size"), fn.sum(_row_hash(release.assignments, columns_read, "own") * fn.col("size"))
    ).collect()[0]
    if tuple(source_totals) != tuple(assigned_totals):
        _refuse(release, "reread", source_totals[0])
    n_suppressed = release.assignments.where("keys IS NULL").agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0]
    share = float(release.spec.options["suppress"] or 0)
    max_suppressed = release.spec.run.max_suppressed
    if n_suppressed > share * source_totals[0] or (max_suppressed is not None and n_suppressed > max_suppressed):
        _refuse(release, "outliers", n_suppressed)
    columns, quasi = plan.published_names(release.spec)
    unchanged = [name for name in columns[:-1] if name not in quasi]
    content_hash = fn.sum(_row_hash(release.published_records, unchanged, "own") * fn.col("size")).alias("seal")
    assigned = release.published_records.groupBy("class_id").agg(fn.sum("size").alias("records"), content_hash)
    content_hash = fn.sum(_row_hash(released_rows, unchanged)).alias("seal_out")
    published = released_rows.groupBy(quoted_column(columns[-1]).alias("class_out")).agg(
        fn.count(fn.lit(1)).alias("records_out"), content_hash
    )
    both = assigned.join(published, fn.col("class_id") == fn.col("class_out"), "full")
    is_same = fn.col("records").eqNullSafe(fn.col("records_out")) & fn.col("seal").eqNullSafe(fn.col("seal_out"))
    if n_wrong := both.where(~is_same).count():
        _refuse(release, "untrue", n_wrong)


def _check_classes(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Raise GateRefusedError unless rows with equal published quasi-identifiers are at least k and exactly one class.

    So they must share one class number, and no other rows may have it.
    """
    columns, quasi = plan.published_names(release.spec)
    number = quoted_column(columns[-1])
    groups = released_rows.groupBy(*map(quoted_column, quasi)).agg(
        fn.count(fn.lit(1)).alias("size"), fn.min(number).alias("low"), fn.max(number).alias("high")
    )
    row = groups.agg(
        fn.coalesce(fn.sum((fn.col("size") < release.spec.k).cast("int")), fn.lit(0)).alias("small"),
        fn.coalesce(fn.sum((fn.col("low") != fn.col("high")).cast("int")), fn.lit(0)).alias("several"),
        (fn.count(fn.lit(1)) - fn.countDistinct("low")).alias("shared"),
    ).collect()[0]
    if row["small"]:
        _refuse(release, "small", row["small"])
    if row["several"] + row["shared"]:
        _refuse(release, "confused", row["several"] + row["shared"])


def _check_coverage(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Raise GateRefusedError unless published values cover every record and are no finer than the policy allows.

    A value covers those of its interval or below its node of the hierarchy.
    """
    columns, quasi = plan.published_names(release.spec)
    published_classes = released_rows.groupBy(
        quoted_column(columns[-1]).alias("number"), fn.struct(*map(quoted_column, quasi)).alias("published")
    ).count()
    quasi_values = fn.struct(*(struct_field("own", name).alias(name) for name in release.planner.quasi_columns))
    pairs = release.published_records.select(quasi_values.alias("own"), "class_id").distinct()
    counts = count_uncovered(
        release.call, pairs.join(published_classes, fn.col("class_id") == fn.col("number")).select("own", "published")
    )
    sums = [fn.coalesce(fn.sum(word), fn.lit(0)).alias(word) for word in ("uncovered", "finer")]
    row = _raise_part_errors(counts.agg(*sums, fn.min("error").alias("error")).collect())[0]
    for word in ("uncovered", "finer"):
        if row[word]:
            _refuse(release, word, row[word])


def _check_rare_values(release: UncheckedRelease) -> None:
    """Raise an error if an insensitive value, or the combination of all, is of fewer than k released records (persons).

    Columns of `allow_rare` are not checked.

    Raises:
        RareValueError: A value is too rare.
        RareCombinationError: A combination of all insensitive columns is too rare.
    """
    allowed_names = {name.lower() for name in release.spec.options.columns("allow_rare")}
    unchanged = [
        name
        for name in release.planner.read_columns
        if name in release.spec.roles.insensitive and name.lower() not in allowed_names
    ]
    count_column = fn.sum("size") if release.spec.roles.person is None else fn.countDistinct("person")
    own_types = release.published_records.schema["own"].dataType

    def count_rare(names: list[str]) -> int:
        """Return how many combinations of values of these columns belong to fewer than k records (persons)."""
        values = [
            value for name in names for value in shown_values(struct_field("own", name), own_types[name].dataType)
        ]
        groups = release.published_records.groupBy(*(value.alias(f"v{i}") for i, value in enumerate(values)))
        return int(groups.agg(count_column.alias("size")).where(fn.col("size") < release.spec.k).count())

    for name in unchanged:
        if count := count_rare([name]):
            raise errors.RareValueError(release.call.function, release.call.name, name, count, release.spec.k)
    if len(unchanged) > 1 and (count := count_rare(unchanged)):
        raise errors.RareCombinationError(release.call.function, release.call.name, unchanged, count, release.spec.k)


def _check_models(release: UncheckedRelease) -> dict[int, float]:
    """Return the value of the worst class for each privacy model other than k, by number of the model.

    -1 is the least number of persons in a class, measured if there is a person column. Empty without models and
    persons.

    Raises:
        GateRefusedError: A class misses a model, or has fewer than k persons.
        PartitionFailedError: A part of the rows could not be measured.
    """
    models = dict(enumerate(release.spec.model_requirements))
    if not models and release.spec.roles.person is None:
        return {}
    rows = release.published_records.select("own", "class_id", "size")
    partitions = release.assignments.rdd.getNumPartitions()
    rows_by_part = rows.withColumn("part", fn.pmod(fn.xxhash64("class_id"), fn.lit(max(partitions, 1))))
    measured = _raise_part_errors(
        measure_models(release.call, rows_by_part, _sensitive_counts(release))
        .groupBy("model")
        .agg(fn.min("value").alias("least"), fn.max("value").alias("most"), fn.sum("missed").alias("missed"),
             fn.min("error").alias("error"))
        .collect()
    )  # fmt: skip
    achieved = {}
    for row in measured:
        number = row["model"]
        if row["missed"]:
            if number < 0:
                _refuse(release, "small", row["missed"])
            model = models[number]
            problem = (
                f"classes that do not meet {model.parameter} on {release.planner.sensitive_columns[model.sensitive]}"
            )
            raise errors.GateRefusedError(release.call.function, problem, row["missed"])
        higher = number < 0 or models[number].form_definition.is_higher
        achieved[number] = row["least"] if higher else row["most"]
    return achieved


def _check_models_measured(release: UncheckedRelease, achieved: Mapping[int, float]) -> None:
    """Raise GateRefusedError unless `achieved` has a value for each model, and for -1 only if there is a person column.

    With a person column, a value for -1 is required, too.
    """
    expected = {*range(len(release.spec.model_requirements)), *([-1] if release.spec.roles.person is not None else [])}
    if set(achieved) != expected:
        _refuse(release, "lost", len(achieved))


def _sensitive_counts(release: UncheckedRelease) -> TableCounts:
    """Return, by sensitive column, how many released records (persons) have each value; `records` is not set (0)."""
    count_column = fn.sum("size") if release.spec.roles.person is None else fn.countDistinct("person")
    columns = {}
    for name in release.planner.sensitive_columns:
        groups = release.published_records.groupBy(struct_field("own", name).alias("value"))
        columns[name] = groups.agg(count_column.alias("size")).toArrow()
    return TableCounts(columns, 0)


def _raise_part_errors(rows: list[Any]) -> list[Any]:
    """Return the rows unchanged.

    Raise PartitionFailedError if one has an `error`, of a part that could not be checked.
    """
    for row in rows:
        if row["error"] is not None:
            raise errors.PartitionFailedError(row["error"])
    return rows

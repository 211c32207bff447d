"""Count classes and metrics again from the published rows, as they are read back: with Spark, from these rows alone."""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window, functions as fn

from dbanon import errors
from dbanon.gate.messages import RELEASE_CHECKS
from dbanon.integrations.spark.columns import is_hashed, quoted_column, shown_values
from dbanon.integrations.spark.release import UncheckedRelease
from dbanon.release.plan import plan

TOLERANCE = 1e-9
"""How far a stated metric may be from the counted one, relative to values above one."""


def check_rows(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Check the sizes of classes, the frequency of values and the order of rows in a release that was read back.

    `released_rows` are the rows of the release. Privacy models other than k are not checked.

    Raises:
        GateRefusedError: A class has fewer than k rows, or the order of rows depends on unpublished values.
        RareValueError: A value of an insensitive column is in fewer than k rows.
    """
    _check_sizes(release, released_rows)
    _check_rare(release, released_rows)
    _check_order(release, released_rows)


def check_classes(
    release: UncheckedRelease, released_rows: DataFrame, stated: DataFrame, achieved: Mapping[int, float]
) -> None:
    """Check the rows of NAME_classes against a count of the released rows; raise an error if they differ.

    Args:
        release: The release.
        released_rows: Its rows, read back.
        stated: The rows of NAME_classes, read back.
        achieved: What the gate measured, by number of the privacy model; -1 is the least number of persons.

    Raises:
        GateRefusedError: A class, its size, what it publishes, its sensitive values, its loss or its number of persons
            is wrong, or the number of suppressed records is.
    """
    names = plan.published_schema_of(release.spec)
    _, quasi = plan.published_names(release.spec)
    is_class = quoted_column(names.class_id).isNotNull()
    classes = stated.where(is_class)
    counted_classes = _sizes(release, released_rows, quasi)
    columns = [quoted_column(names.class_id).alias("class"), quoted_column(names.size).alias("stated size")]
    columns += [quoted_column(name).alias(f"stated {i}") for i, name in enumerate(quasi)]
    compared = classes.select(*columns).join(counted_classes, fn.col("class") == fn.col("number"), "full")
    is_same = fn.col("stated size").eqNullSafe(fn.col("size"))
    for i in range(len(quasi)):
        is_same = is_same & fn.col(f"stated {i}").eqNullSafe(fn.col(f"quasi {i}"))
    _refuse(release, "stated", compared.where(~is_same).count())
    for name in release.spec.roles.sensitive:
        _refuse(release, "stated", _count_wrong_values(release, released_rows, classes, name))
    is_loss = quoted_column(names.loss).between(-TOLERANCE, 1 + TOLERANCE)
    _refuse(release, "stated", classes.where(~fn.coalesce(is_loss, fn.lit(False))).count())
    if release.spec.roles.person is not None:
        persons = quoted_column(names.persons)
        row = classes.agg(fn.min(persons), fn.max(persons - quoted_column(names.size))).collect()[0]
        _refuse(release, "stated", int(row[0] != achieved[-1] or row[1] > 0))
    n_suppressed = (
        stated.where(~is_class).agg(fn.coalesce(fn.sum(quoted_column(names.size)), fn.lit(0))).collect()[0][0]
    )
    _refuse(release, "stated", abs(release.rows.count() - released_rows.count() - n_suppressed))


def check_metrics(
    release: UncheckedRelease, released_rows: DataFrame, stated: DataFrame, achieved: Mapping[int, float]
) -> None:
    """Check the rows of NAME_metrics against a count of the released rows; raise an error if they differ.

    Metrics that cannot be counted from them are not checked.

    Args:
        release: The release.
        released_rows: Its rows, read back.
        stated: The rows of NAME_metrics, read back.
        achieved: What the gate measured, by number of the privacy model; -1 is the least number of persons.

    Raises:
        GateRefusedError: A metric is missing or differs by more than TOLERANCE.
    """
    stated_values = {row["metric"]: row["value"] for row in stated.select("metric", "value").collect()}
    wrong = [
        name
        for name, value in _counted_metrics(release, released_rows, achieved)
        if name not in stated_values or abs(stated_values[name] - value) > TOLERANCE * max(1.0, abs(value))
    ]
    _refuse(release, "stated", len(wrong))


def _refuse(release: UncheckedRelease, check_name: str, count: int) -> None:
    """Raise GateRefusedError with the message of the check `check_name` if `count`, its number of faults, is not 0."""
    if count:
        raise errors.GateRefusedError(release.call.function, RELEASE_CHECKS[check_name][0], count)


# --- rows --------------------------------------------------------------------------------------------------


def _class_number(release: UncheckedRelease) -> Column:
    """Return the Spark column of a release that has the number of the class: its last one."""
    return quoted_column(plan.published_names(release.spec)[0][-1])


def _unchanged(release: UncheckedRelease) -> list[str]:
    """Return the names of the columns that are published unchanged: all but quasi-identifiers and class number."""
    columns, quasi = plan.published_names(release.spec)
    return [name for name in columns[:-1] if name not in quasi]


def _sizes(release: UncheckedRelease, released_rows: DataFrame, quasi: Sequence[str] = ()) -> DataFrame:
    """Return one row per class: its `number`, its `size` in rows, and its values of `quasi` as `quasi 0`, `quasi 1` ...

    A class whose rows have different values of these columns has several rows.

    Args:
        release: The release, whose last column is the class number.
        released_rows: Its rows, read back.
        quasi: The names of published columns to include; by default none.
    """
    keys = [quoted_column(name).alias(f"quasi {i}") for i, name in enumerate(quasi)]
    return released_rows.groupBy(_class_number(release).alias("number"), *keys).agg(fn.count(fn.lit(1)).alias("size"))


def _check_sizes(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Raise GateRefusedError if a class has fewer than k rows."""
    _refuse(release, "small", _sizes(release, released_rows).where(fn.col("size") < release.spec.k).count())


def _check_rare(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Raise RareValueError if a value of an insensitive column is in fewer than k rows.

    Columns of `allow_rare` are not checked.
    """
    allowed_names = {name.lower() for name in release.spec.options.columns("allow_rare")}
    for name in release.spec.roles.insensitive:
        if name.lower() not in allowed_names:
            values = shown_values(quoted_column(name), released_rows.schema[name].dataType)
            groups = released_rows.groupBy(*(value.alias(f"v{i}") for i, value in enumerate(values))).count()
            if n_rare := groups.where(fn.col("count") < release.spec.k).count():
                raise errors.RareValueError(release.call.function, release.call.name, name, n_rare, release.spec.k)


def _check_order(release: UncheckedRelease, released_rows: DataFrame) -> None:
    """Raise GateRefusedError unless, in each Spark partition, classes are contiguous and ordered by unchanged values.

    So the order of rows reveals nothing about values that are not published.
    """
    values = [
        (
            quoted_column(name)
            if is_hashed(released_rows.schema[name].dataType)
            else fn.to_json(fn.struct(quoted_column(name)))
        ).alias(str(i))
        for i, name in enumerate(_unchanged(release))
    ]
    places = released_rows.select(
        _class_number(release).alias("number"),
        fn.struct(*values, fn.lit(0).alias("last")).alias("values"),
        fn.spark_partition_id().alias("partition"),
        fn.monotonically_increasing_id().alias("place"),
    )
    window = Window.partitionBy("partition").orderBy("place")
    pairs = places.select(
        "partition",
        "number",
        fn.coalesce(fn.col("number") == fn.lag("number").over(window), fn.lit(False)).alias("goes on"),
        fn.coalesce(fn.col("values") < fn.lag("values").over(window), fn.lit(False)).alias("descends"),
    )
    row = pairs.agg(
        fn.coalesce(fn.sum((~fn.col("goes on")).cast("int")), fn.lit(0)).alias("runs"),
        fn.countDistinct("partition", "number").alias("classes"),
        fn.coalesce(fn.sum((fn.col("goes on") & fn.col("descends")).cast("int")), fn.lit(0)).alias("descending"),
    ).collect()[0]
    _refuse(release, "order", row["runs"] - row["classes"] + row["descending"])


def _count_wrong_values(release: UncheckedRelease, released_rows: DataFrame, classes: DataFrame, name: str) -> int:
    """Return how many pairs of class and value of a sensitive column are stated with a wrong count.

    Args:
        release: The release.
        released_rows: Its rows, read back, in which the values are counted again.
        classes: The rows of NAME_classes, which have for each class a list of (value, size) structs.
        name: The sensitive column.
    """
    number = quoted_column(plan.published_schema_of(release.spec).class_id)
    stated = classes.select(number.alias("number"), fn.explode(quoted_column(name)).alias("pair")).select(
        "number", fn.col("pair")["value"].alias("value"), (-fn.col("pair")["size"]).alias("n")
    )
    counted = released_rows.select(
        _class_number(release).alias("number"), quoted_column(name).alias("value"), fn.lit(1).alias("n")
    )
    return int(stated.union(counted).groupBy("number", "value").agg(fn.sum("n").alias("n")).where("n <> 0").count())


# --- metrics -----------------------------------------------------------------------------------------------


def _counted_metrics(
    release: UncheckedRelease, released_rows: DataFrame, achieved: Mapping[int, float]
) -> Iterator[tuple[str, float]]:
    """Yield (name, value) of metrics that follow from the released rows, the number of records, and `achieved`.

    Metrics per column have names such as `homogeneous_share:disease`. With a person column, metrics of rare values,
    average risk and combinations are omitted.

    Args:
        release: The release.
        released_rows: Its rows, read back.
        achieved: What the gate measured, by number of the privacy model; -1 is the least number of persons.
    """
    has_persons = release.spec.roles.person is not None
    size = fn.col("size")
    row = _sizes(release, released_rows).agg(
        fn.count(fn.lit(1)), fn.sum(size), fn.min(size), fn.max(size), fn.sum(size.cast("decimal(38,0)") * size)
    )
    classes, records, smallest, greatest, squares = row.collect()[0]
    n_source_records, n_clustered = release.source.count(), release.rows.count()
    k = achieved[-1] if has_persons else smallest
    yield from {
        "records": records,
        "classes": classes,
        "is_single_class": int(classes == 1),
        "k": k,
        "c_avg": records / classes / release.spec.k,
        "class_size_average": records / classes,
        "class_size_greatest": greatest,
        "discernibility": float(squares),
        "risk_highest": 1 / k,
        "dropped:null": n_source_records - n_clustered,
        "suppressed": n_clustered - records,
    }.items()
    for number, value in achieved.items():
        if number >= 0:
            demand = release.spec.model_requirements[number]
            yield f"{demand.form_definition.metric.name}:{release.planner.sensitive_columns[demand.sensitive]}", value
    for name in release.spec.roles.sensitive:
        values = released_rows.groupBy(_class_number(release)).agg(
            fn.countDistinct(fn.struct(quoted_column(name))).alias("values"), fn.count(fn.lit(1)).alias("size")
        )
        n_homogeneous = values.where("values = 1").agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0]
        yield f"homogeneous_share:{name}", n_homogeneous / records
        if not has_persons:
            rare = released_rows.groupBy(quoted_column(name)).count().where(fn.col("count") < release.spec.k).count()
            yield f"n_rare_values:{name}", rare
    if not has_persons:
        yield "risk_average", classes / records
        yield from _counted_combinations(release, released_rows)


def _counted_combinations(release: UncheckedRelease, released_rows: DataFrame) -> Iterator[tuple[str, float]]:
    """Yield (name, value) of two metrics of the columns that are published unchanged; nothing if there are none.

    - `k_full_record`: the least number of rows with equal class and unchanged values.
    - `unique_by_unchanged_columns`: the number of rows whose unchanged values no other row has.
    """
    types = released_rows.schema
    shown_columns = [v for n in _unchanged(release) for v in shown_values(quoted_column(n), types[n].dataType)]
    unchanged = [value.alias(f"u{i}") for i, value in enumerate(shown_columns)]
    if unchanged:
        yield (
            "k_full_record",
            released_rows.groupBy(_class_number(release), *unchanged).count().agg(fn.min("count")).collect()[0][0],
        )
        yield (
            "unique_by_unchanged_columns",
            released_rows.groupBy(*unchanged).count().where(fn.col("count") == 1).count(),
        )

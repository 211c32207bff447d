"""What is published, counted again from the rows as they are read back: by Spark alone, from nothing but these rows."""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window, functions as fn

from dbanon import errors
from dbanon.gate.messages import RELEASE_CHECKS
from dbanon.integrations.spark.columns import is_hashed, named
from dbanon.integrations.spark.release import Made
from dbanon.release.plan import plan

TOLERANCE = 1e-9
"""How far a stated metric may be from the counted one, relative to values above one."""


def check_rows(made: Made, released: DataFrame) -> None:
    """Refuse classes below k, rare values and rows in another order than that of what they publish.

    Raises:
        GateRefusedError: A class has fewer than k rows, or rows are out of order.
        RareValueError: A value of an insensitive column is in fewer than k rows.
    """
    _check_sizes(made, released)
    _check_rare(made, released)
    _check_order(made, released)


def check_classes(made: Made, released: DataFrame, stated: DataFrame, achieved: Mapping[int, float]) -> None:
    """Refuse rows of NAME_classes that do not follow from the released rows.

    Args:
        made: The release.
        released: Its rows, read back.
        stated: The classes, read back.
        achieved: What the gate measured by each model; -1 is the least number of persons.

    Raises:
        GateRefusedError: A class, its size, what it publishes or its sensitive values are others.
    """
    names, publication = plan.published_schema_of(made.of.publication), made.of.publication
    _, quasi = plan.published_names(publication)
    is_class = named(names.class_id).isNotNull()
    classes = stated.where(is_class)
    counted = _sizes(made, released, quasi)
    columns = [named(names.class_id).alias("class"), named(names.size).alias("stated size")]
    columns += [named(name).alias(f"stated {i}") for i, name in enumerate(quasi)]
    both = classes.select(*columns).join(counted, fn.col("class") == fn.col("number"), "full")
    is_same = fn.col("stated size").eqNullSafe(fn.col("size"))
    for i in range(len(quasi)):
        is_same = is_same & fn.col(f"stated {i}").eqNullSafe(fn.col(f"quasi {i}"))
    _refuse(made, "stated", both.where(~is_same).count())
    for name in publication.roles.sensitive:
        _refuse(made, "stated", _unlike_values(made, released, classes, name))
    is_loss = named(names.loss).between(-TOLERANCE, 1 + TOLERANCE)
    _refuse(made, "stated", classes.where(~fn.coalesce(is_loss, fn.lit(False))).count())
    if publication.roles.person is not None:
        persons = named(names.persons)
        row = classes.agg(fn.min(persons), fn.max(persons - named(names.size))).collect()[0]
        _refuse(made, "stated", int(row[0] != achieved[-1] or row[1] > 0))
    left_out = stated.where(~is_class).agg(fn.coalesce(fn.sum(named(names.size)), fn.lit(0))).collect()[0][0]
    _refuse(made, "stated", abs(made.rows.count() - released.count() - left_out))


def check_metrics(made: Made, released: DataFrame, stated: DataFrame, achieved: Mapping[int, float]) -> None:
    """Refuse rows of NAME_metrics that do not follow from the released rows.

    Args:
        made: The release.
        released: Its rows, read back.
        stated: The metrics, read back.
        achieved: What the gate measured by each model; -1 is the least number of persons.

    Raises:
        GateRefusedError: A metric that can be counted is missing or has another value.
    """
    found = {row["metric"]: row["value"] for row in stated.select("metric", "value").collect()}
    wrong = [
        name
        for name, value in _counted_metrics(made, released, achieved)
        if name not in found or abs(found[name] - value) > TOLERANCE * max(1.0, abs(value))
    ]
    _refuse(made, "stated", len(wrong))


def _refuse(made: Made, word: str, count: int) -> None:
    if count:
        raise errors.GateRefusedError(made.asked.function, RELEASE_CHECKS[word][0], count)


# --- rows --------------------------------------------------------------------------------------------------


def _number(made: Made) -> Column:
    return named(plan.published_names(made.of.publication)[0][-1])


def _unchanged(made: Made) -> list[str]:
    """Return the columns that are published as they are."""
    columns, quasi = plan.published_names(made.of.publication)
    return [name for name in columns[:-1] if name not in quasi]


def _sizes(made: Made, released: DataFrame, quasi: Sequence[str] = ()) -> DataFrame:
    """`number` and `size` of every class, and what it publishes (`quasi 0` ...)."""
    keys = [named(name).alias(f"quasi {i}") for i, name in enumerate(quasi)]
    return released.groupBy(_number(made).alias("number"), *keys).agg(fn.count(fn.lit(1)).alias("size"))


def _check_sizes(made: Made, released: DataFrame) -> None:
    _refuse(made, "small", _sizes(made, released).where(fn.col("size") < made.of.publication.k).count())


def _check_rare(made: Made, released: DataFrame) -> None:
    publication = made.of.publication
    allowed = {name.lower() for name in publication.options.columns("allow_rare")}
    for name in publication.roles.other:
        if name.lower() not in allowed:
            rows = released.groupBy(named(name)).count().where(fn.col("count") < publication.k).count()
            if rows:
                raise errors.RareValueError(made.asked.function, made.asked.name, name, rows, publication.k)


def _check_order(made: Made, released: DataFrame) -> None:
    """Rows of a class follow each other, in the order of their unchanged values."""
    values = [
        (named(name) if is_hashed(released.schema[name].dataType) else fn.to_json(fn.struct(named(name)))).alias(str(i))
        for i, name in enumerate(_unchanged(made))
    ]
    places = released.select(
        _number(made).alias("number"),
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
    _refuse(made, "order", row["runs"] - row["classes"] + row["descending"])


def _unlike_values(made: Made, released: DataFrame, classes: DataFrame, name: str) -> int:
    """How many sensitive values of classes are stated with another number of records than they have."""
    number = named(plan.published_schema_of(made.of.publication).class_id)
    pair = fn.explode(named(name)).alias("pair")
    stated = classes.select(number.alias("number"), pair).select(
        "number", fn.col("pair")["value"].alias("value"), (-fn.col("pair")["size"]).alias("n")
    )
    counted = released.select(_number(made).alias("number"), named(name).alias("value"), fn.lit(1).alias("n"))
    both = stated.union(counted).groupBy("number", "value").agg(fn.sum("n").alias("n"))
    return int(both.where("n <> 0").count())


# --- metrics -----------------------------------------------------------------------------------------------


def _counted_metrics(made: Made, released: DataFrame, achieved: Mapping[int, float]) -> Iterator[tuple[str, float]]:
    """Yield metrics by name, as far as released rows and the number of records of the source determine them."""
    publication = made.of.publication
    has_persons = publication.roles.person is not None
    size = fn.col("size")
    row = _sizes(made, released).agg(
        fn.count(fn.lit(1)), fn.sum(size), fn.min(size), fn.max(size), fn.sum(size.cast("decimal(38,0)") * size)
    )
    classes, records, least, greatest, squares = row.collect()[0]
    came, clustered = made.source.count(), made.rows.count()
    k = achieved[-1] if has_persons else least
    yield from {
        "records": records,
        "classes": classes,
        "one_class": int(classes == 1),
        "k": k,
        "c_avg": records / classes / publication.k,
        "class_size_average": records / classes,
        "class_size_greatest": greatest,
        "discernibility": float(squares),
        "risk_highest": 1 / k,
        "dropped": came - clustered,
        "suppressed:outlier": clustered - records,
    }.items()
    for number, value in achieved.items():
        if number >= 0:
            demand = publication.model_requirements[number]
            yield f"{demand.form_definition.metric.name}:{made.of.tested[demand.sensitive]}", value
    for name in publication.roles.sensitive:
        values = released.groupBy(_number(made)).agg(
            fn.countDistinct(fn.struct(named(name))).alias("values"), fn.count(fn.lit(1)).alias("size")
        )
        alike = values.where("values = 1").agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0]
        yield f"homogeneous_share:{name}", alike / records
        if not has_persons:
            rare = released.groupBy(named(name)).count().where(fn.col("count") < publication.k).count()
            yield f"rare_sensitive_values:{name}", rare
    if not has_persons:
        yield "risk_average", classes / records
        yield from _counted_combinations(made, released)


def _counted_combinations(made: Made, released: DataFrame) -> Iterator[tuple[str, float]]:
    """Yield metrics of the combinations of all unchanged values."""
    unchanged = [named(name) for name in _unchanged(made)]
    if unchanged:
        yield "k_all", released.groupBy(_number(made), *unchanged).count().agg(fn.min("count")).collect()[0][0]
        yield "unique_unchanged", released.groupBy(*unchanged).count().where(fn.col("count") == 1).count()

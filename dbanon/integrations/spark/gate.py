"""The gate of releases on Spark: what is to leave is held against the source, the policy and the models, by Spark's
own counts and the words of DuckDB's gate; nothing of the clustering is used, nothing leaves before all has passed."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import Column, DataFrame, functions as fn

from dbanon import errors
from dbanon.gate.messages import RELEASE_CHECKS
from dbanon.integrations.spark import recount
from dbanon.integrations.spark.columns import is_hashed, named, of_struct
from dbanon.integrations.spark.executor_tasks import judged, refused
from dbanon.integrations.spark.release import Made
from dbanon.integrations.spark.session_call import LargerTable
from dbanon.release.plan import plan


def check(made: Made, released: DataFrame) -> dict[int, float]:
    """What the models achieve, by their numbers; GateRefusedError, RareValueError, RareCombinationError.

    `released` are the rows as they can be read once they have left.
    """
    _columns(made, released)
    _records(made, released)
    _classes(made, released)
    _covered(made, released)
    _rare(made)
    recount.check_rows(made, released)
    achieved = _models(made)
    _all_judged(made, achieved)
    return achieved


def _refuse(made: Made, word: str, count: object) -> None:
    raise errors.GateRefusedError(made.asked.function, RELEASE_CHECKS[word][0], count)


def _columns(made: Made, released: DataFrame) -> None:
    """Nothing but what the policy lets out."""
    wanted, _ = plan.published_names(made.of.publication)
    if tuple(released.columns) != wanted:
        _refuse(made, "columns", len(released.columns))


def _seal(rows: DataFrame, names: list[str], of: str | None = None) -> Column:
    """Return a number that tells which values a row has."""
    schema = rows.schema[of].dataType if of else rows.schema
    columns = [of_struct(of, name) if of else named(name) for name in names]
    hashed = [
        column if is_hashed(schema[name].dataType) else fn.to_json(fn.struct(column.alias("v")))
        for name, column in zip(names, columns, strict=True)
    ]
    return (fn.xxhash64(*hashed) if hashed else fn.lit(0)).cast("decimal(38,0)")


def _records(made: Made, released: DataFrame) -> None:
    """Every record of the source, read anew, is dealt out once, and what is released of a class was dealt to it."""
    own = made.of.own
    read = made.rows.agg(fn.count(fn.lit(1)), fn.sum(_seal(made.rows, own, "own"))).collect()[0]
    found = made.dealt.agg(fn.sum("size"), fn.sum(_seal(made.dealt, own, "own") * fn.col("size"))).collect()[0]
    if tuple(read) != tuple(found):
        _refuse(made, "reread", read[0])
    out = made.dealt.where("keys IS NULL").agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0]
    share = float(made.of.publication.options["suppress"] or 0)
    most = made.of.publication.run.max_suppressed
    if out > share * read[0] or (most is not None and out > most):
        _refuse(made, "outliers", out)
    columns, quasi = plan.published_names(made.of.publication)
    kept = [name for name in columns[:-1] if name not in quasi]
    seal = fn.sum(_seal(made.placed, kept, "own") * fn.col("size")).alias("seal")
    first = made.placed.groupBy("class_id").agg(fn.sum("size").alias("records"), seal)
    seal = fn.sum(_seal(released, kept)).alias("seal_out")
    second = released.groupBy(named(columns[-1]).alias("class_out")).agg(fn.count(fn.lit(1)).alias("records_out"), seal)
    both = first.join(second, fn.col("class_id") == fn.col("class_out"), "full")
    same = fn.col("records").eqNullSafe(fn.col("records_out")) & fn.col("seal").eqNullSafe(fn.col("seal_out"))
    if wrong := both.where(~same).count():
        _refuse(made, "untrue", wrong)


def _classes(made: Made, released: DataFrame) -> None:
    """Regrouped by what is published: no class is below k, and none has two numbers."""
    columns, quasi = plan.published_names(made.of.publication)
    number = named(columns[-1])
    groups = released.groupBy(*map(named, quasi)).agg(
        fn.count(fn.lit(1)).alias("size"), fn.min(number).alias("low"), fn.max(number).alias("high")
    )
    row = groups.agg(
        fn.coalesce(fn.sum((fn.col("size") < made.of.publication.k).cast("int")), fn.lit(0)).alias("small"),
        fn.coalesce(fn.sum((fn.col("low") != fn.col("high")).cast("int")), fn.lit(0)).alias("several"),
        (fn.count(fn.lit(1)) - fn.countDistinct("low")).alias("shared"),
    ).collect()[0]
    if row["small"]:
        _refuse(made, "small", row["small"])
    if row["several"] + row["shared"]:
        _refuse(made, "confused", row["several"] + row["shared"])


def _covered(made: Made, released: DataFrame) -> None:
    """What is published of every record covers it, and is not finer than the policy allows."""
    columns, quasi = plan.published_names(made.of.publication)
    shown = released.groupBy(
        named(columns[-1]).alias("number"), fn.struct(*map(named, quasi)).alias("published")
    ).count()
    read = fn.struct(*(of_struct("own", name).alias(name) for name in made.of.quasi))
    pairs = made.placed.select(read.alias("own"), "class_id").distinct()
    found = refused(made.asked, pairs.join(shown, fn.col("class_id") == fn.col("number")).select("own", "published"))
    sums = [fn.coalesce(fn.sum(word), fn.lit(0)).alias(word) for word in ("uncovered", "finer")]
    row = _told(found.agg(*sums, fn.min("error").alias("error")).collect())[0]
    for word in ("uncovered", "finer"):
        if row[word]:
            _refuse(made, word, row[word])


def _rare(made: Made) -> None:
    """No value that is published as it is belongs to too few."""
    publication = made.of.publication
    allowed = {name.lower() for name in publication.options.columns("allow_rare")}
    other = [name for name in made.of.own if name in publication.roles.other and name.lower() not in allowed]
    counted = fn.sum("size") if publication.roles.person is None else fn.countDistinct("person")

    def rare(names: list[str]) -> int:
        groups = made.placed.groupBy(*(of_struct("own", name).alias(f"v{i}") for i, name in enumerate(names)))
        return int(groups.agg(counted.alias("size")).where(fn.col("size") < publication.k).count())

    for name in other:
        if count := rare([name]):
            raise errors.RareValueError(made.asked.function, made.asked.name, name, count, publication.k)
    if len(other) > 1 and (count := rare(other)):
        raise errors.RareCombinationError(made.asked.function, made.asked.name, other, count, publication.k)


def _models(made: Made) -> dict[int, float]:
    """What the worst class measures by each model; persons are counted as one."""
    publication = made.of.publication
    models = dict(enumerate(publication.model_requirements))
    if not models and publication.roles.person is None:
        return {}
    rows = made.placed.select("own", "class_id", "size")
    partitions = made.dealt.rdd.getNumPartitions()
    held = rows.withColumn("part", fn.pmod(fn.xxhash64("class_id"), fn.lit(max(partitions, 1))))
    found = _told(
        judged(made.asked, held, _overall(made))
        .groupBy("model")
        .agg(fn.min("value").alias("least"), fn.max("value").alias("most"), fn.sum("missed").alias("missed"),
             fn.min("error").alias("error"))
        .collect()
    )  # fmt: skip
    achieved = {}
    for row in found:
        number = row["model"]
        if row["missed"]:
            if number < 0:
                _refuse(made, "small", row["missed"])
            of = models[number]
            what = f"classes that do not meet {of.parameter} on {made.of.tested[of.sensitive]}"
            raise errors.GateRefusedError(made.asked.function, what, row["missed"])
        higher = number < 0 or models[number].form_definition.is_higher
        achieved[number] = row["least"] if higher else row["most"]
    return achieved


def _all_judged(made: Made, achieved: Mapping[int, float]) -> None:
    """Every model has been judged, and the number of persons where they are declared."""
    publication = made.of.publication
    wanted = {*range(len(publication.model_requirements)), *([-1] if publication.roles.person is not None else [])}
    if set(achieved) != wanted:
        _refuse(made, "lost", len(achieved))


def _overall(made: Made) -> LargerTable:
    """How many released records (persons) have each sensitive value."""
    counted = fn.sum("size") if made.of.publication.roles.person is None else fn.countDistinct("person")
    found = {}
    for name in made.of.tested:
        by = made.placed.groupBy(of_struct("own", name).alias("value"))
        found[name] = by.agg(counted.alias("size")).toArrow()
    return LargerTable(found, 0)


def _told(rows: list[Any]) -> list[Any]:
    """Return the rows, unless one says that a part could not be judged."""
    for row in rows:
        if row["error"] is not None:
            raise errors.PartitionFailedError(row["error"])
    return rows

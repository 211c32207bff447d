"""The gate of releases on Spark: what is to leave is held against the source, the policy and the models, by Spark's own
counts and by the words of DuckDB's gate; nothing of the clustering is used, and nothing leaves before all has passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbanon import errors
from dbanon.release import plan
from dbanon.release.messages import GATE
from dbanon.spark.asked import LargerTable
from dbanon.spark.columns import named, of_struct
from dbanon.spark.dealt import judged, refused
from dbanon.spark.release import Made

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def check(made: Made, released: DataFrame) -> dict[int, float]:
    """What the models achieve, by their numbers; GateRefused, RareOther, RareTogether.

    `released` are the rows as they can be read once they have left.
    """
    _columns(made, released)
    _records(made, released)
    _classes(made, released)
    _covered(made, released)
    _rare(made)
    return _models(made)


def _refuse(made: Made, word: str, count: object) -> None:
    raise errors.GateRefused(made.asked.function, GATE[word][0], count)


def _columns(made: Made, released: DataFrame) -> None:
    """Nothing but what the policy lets out."""
    wanted, _ = plan.published_names(made.of.publication)
    if tuple(released.columns) != wanted:
        _refuse(made, "columns", len(released.columns))


def _seal(names: list[str], of: str | None = None) -> Column:
    """A sum that tells which values there are; of floating point numbers, -0.0 is 0.0."""
    from pyspark.sql import functions as F

    columns = [F.to_json(F.struct((of_struct(of, n) if of else named(n)).alias("v"))) for n in names]
    return F.sum(F.xxhash64(*columns).cast("decimal(38,0)")) if columns else F.lit(0)


def _records(made: Made, released: DataFrame) -> None:
    """Every record of the source, read anew, is dealt out once, and what is released of a class is what was dealt to it."""
    from pyspark.sql import functions as F

    own = made.of.own
    dealt = made.dealt.withColumn("copy", F.explode(F.array_repeat(F.lit(0), F.col("size").cast("int"))))
    read, found = (
        rows.agg(F.count(F.lit(1)).alias("records"), _seal(own, "own").alias("seal")).collect()[0]
        for rows in (made.rows, dealt)
    )
    if tuple(read) != tuple(found):
        _refuse(made, "reread", read["records"])
    out = made.dealt.where("keys IS NULL").agg(F.coalesce(F.sum("size"), F.lit(0))).collect()[0][0]
    share = float(made.of.publication.options["suppress"] or 0)
    most = made.of.publication.run.most_suppressed
    if out > share * read["records"] or (most is not None and out > most):
        _refuse(made, "outliers", out)
    columns, quasi = plan.published_names(made.of.publication)
    kept = [name for name in columns[:-1] if name not in quasi]
    dealt_rows = made.placed.withColumn("copy", F.explode(F.array_repeat(F.lit(0), F.col("size").cast("int"))))
    sums = (F.count(F.lit(1)).alias("records"), _seal(kept, "own").alias("seal"))
    first = dealt_rows.groupBy("class_id").agg(*sums)
    sums = (F.count(F.lit(1)).alias("records_out"), _seal(kept).alias("seal_out"))
    second = released.groupBy(named(columns[-1]).alias("class_out")).agg(*sums)
    both = first.join(second, F.col("class_id") == F.col("class_out"), "full")
    same = F.col("records").eqNullSafe(F.col("records_out")) & F.col("seal").eqNullSafe(F.col("seal_out"))
    if wrong := both.where(~same).count():
        _refuse(made, "untrue", wrong)


def _classes(made: Made, released: DataFrame) -> None:
    """Regrouped by what is published: no class is below k, and none has two numbers."""
    from pyspark.sql import functions as F

    columns, quasi = plan.published_names(made.of.publication)
    number = named(columns[-1])
    groups = released.groupBy(*map(named, quasi)).agg(
        F.count(F.lit(1)).alias("size"), F.min(number).alias("low"), F.max(number).alias("high")
    )
    row = groups.agg(
        F.coalesce(F.sum((F.col("size") < made.of.publication.k).cast("int")), F.lit(0)).alias("small"),
        F.coalesce(F.sum((F.col("low") != F.col("high")).cast("int")), F.lit(0)).alias("several"),
        (F.count(F.lit(1)) - F.countDistinct("low")).alias("shared"),
    ).collect()[0]
    if row["small"]:
        _refuse(made, "small", row["small"])
    if row["several"] + row["shared"]:
        _refuse(made, "confused", row["several"] + row["shared"])


def _covered(made: Made, released: DataFrame) -> None:
    """What is published of every record covers it, and is not finer than the policy allows."""
    from pyspark.sql import functions as F

    columns, quasi = plan.published_names(made.of.publication)
    shown = released.groupBy(named(columns[-1]).alias("number"), F.struct(*map(named, quasi)).alias("published")).count()
    pairs = made.placed.select("own", "class_id").join(shown, F.col("class_id") == F.col("number"))
    found = refused(made.asked, pairs.select("own", "published"))
    sums = [F.coalesce(F.sum(word), F.lit(0)).alias(word) for word in ("uncovered", "finer")]
    row = _told(found.agg(*sums, F.min("error").alias("error")).collect())[0]
    for word in ("uncovered", "finer"):
        if row[word]:
            _refuse(made, word, row[word])


def _rare(made: Made) -> None:
    """No value that is published as it is belongs to too few."""
    from pyspark.sql import functions as F

    publication = made.of.publication
    allowed = {name.lower() for name in publication.options.columns("allow_rare")}
    other = [name for name in made.of.own if name in publication.roles.other and name.lower() not in allowed]
    counted = F.sum("size") if publication.roles.person is None else F.countDistinct("person")

    def rare(names: list[str]) -> int:
        groups = made.placed.groupBy(*(of_struct("own", name).alias(f"v{i}") for i, name in enumerate(names)))
        return groups.agg(counted.alias("size")).where(F.col("size") < publication.k).count()

    for name in other:
        if count := rare([name]):
            raise errors.RareOther(made.asked.function, made.asked.name, name, count, publication.k)
    if len(other) > 1 and (count := rare(other)):
        raise errors.RareTogether(made.asked.function, made.asked.name, other, count, publication.k)


def _models(made: Made) -> dict[int, float]:
    """What the worst class measures by each model; persons are counted as one."""
    from pyspark.sql import functions as F

    publication = made.of.publication
    models = dict(enumerate(publication.demands))
    if not models and publication.roles.person is None:
        return {}
    rows = made.placed.select("own", "class_id", "size")
    partitions = made.dealt.rdd.getNumPartitions()
    held = rows.withColumn("part", F.pmod(F.xxhash64("class_id"), F.lit(max(partitions, 1))))
    found = _told(
        judged(made.asked, held, _overall(made))
        .groupBy("model")
        .agg(F.min("value").alias("least"), F.max("value").alias("most"), F.sum("missed").alias("missed"),
             F.min("error").alias("error"))
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
            raise errors.GateRefused(made.asked.function, what, row["missed"])
        higher = number < 0 or models[number].rule.is_higher
        achieved[number] = row["least"] if higher else row["most"]
    if set(achieved) != {*models, *([-1] if publication.roles.person is not None else [])}:
        _refuse(made, "lost", len(achieved))
    return achieved


def _overall(made: Made) -> LargerTable:
    """How many released records (persons) have each sensitive value."""
    from pyspark.sql import functions as F

    counted = F.sum("size") if made.of.publication.roles.person is None else F.countDistinct("person")
    found = {}
    for name in made.of.tested:
        by = made.placed.groupBy(of_struct("own", name).alias("value"))
        found[name] = by.agg(counted.alias("size")).toArrow()
    return LargerTable(found, 0)


def _told(rows: list[Any]) -> list[Any]:
    """The rows, unless one says that a part could not be judged."""
    for row in rows:
        if row["error"] is not None:
            raise errors.InAPart(row["error"])
    return rows

"""Classes and measures of a release on Spark, by the names of NAME_classes and NAME_metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from dbanon.release import measures, plan
from dbanon.spark.columns import named, of_struct
from dbanon.spark.release import Made

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_METRICS = "metric string, value double, better string, description string, published boolean"


def classes(made: Made) -> DataFrame:
    """One row an equivalence class, and one a reason why records were left out: the columns of NAME_classes."""
    from pyspark.sql import functions as F

    publication = made.of.publication
    names = plan.class_names(publication)
    _, quasi = plan.published_names(publication)
    of = _with_persons(made, _losing(made))
    shown = [F.col("class_id").alias(names.class_id), F.col("size").alias(names.size)]
    shown += [F.col("persons").alias(names.persons)] if publication.roles.person is not None else []
    shown += [of_struct("published", name).alias(name) for name in quasi]
    shown.append((F.col("loss") / len(made.of.quasi)).alias(names.loss))
    left = publication.options["suppress"] or publication.run.most_suppressed
    if left:
        of = of.withColumn("reason", F.lit(None).cast("string")).unionByName(_left_out(made), allowMissingColumns=True)
        shown.append(F.col("reason").alias(names.suppressed))
    for name in publication.roles.sensitive:
        of = of.join(_values(made, name), "class_id", "left")
        shown.append(F.col(f"values of {name}").alias(name))
    return of.select(*shown).orderBy(named(names.class_id).asc_nulls_last())


def metrics(made: Made, achieved: Mapping[int, float]) -> DataFrame:
    """The measures of NAME_metrics that follow from counts of classes, one row each."""
    known = {name: list(found) for name, found in _measured(made, achieved)}
    unit = "distinct persons" if made.of.publication.roles.person else "records (no person column: one person may have several)"
    rows = [
        (m.name + (f":{detail}" if detail else ""), float(value), m.better, m.what.replace("{unit}", unit), "classes" not in m.custodian)
        for m in measures.all_metrics()
        for detail, value in known.get(m.name, ())
    ]  # fmt: skip
    return made.dealt.sparkSession.createDataFrame(rows, _METRICS)


def _measured(made: Made, achieved: Mapping[int, float]) -> Iterator[tuple[str, list[tuple[str | None, Any]]]]:
    """Measures by name, with what each is of and its value."""
    from pyspark.sql import functions as F

    publication, of = made.of.publication, _with_persons(made, _losing(made))
    count = F.col("persons") if publication.roles.person is not None else F.col("size")
    squares = F.sum(F.col("size").cast("decimal(38,0)") * F.col("size"))
    exact = {name: F.sum((F.col("size") * F.col(name)).cast("decimal(38,12)")) for name in ("loss", "edges", "leaves", "numbers")}
    row = of.agg(
        F.count(F.lit(1)).alias("classes"), F.sum("size").alias("records"), F.max("size").alias("greatest"),
        F.min(count).alias("k"), squares.alias("squares"), F.min(count).alias("least"),
        F.sum((F.col("size") / count).cast("decimal(38,12)")).alias("risk"),
        *(total.alias(name) for name, total in exact.items()),
    ).collect()[0]  # fmt: skip
    n, attributes = row["records"], len(made.of.quasi)
    numbers = sum(a.is_number for a in publication.attributes)
    came = made.source.count()
    clustered = made.dealt.agg(F.sum("size")).collect()[0][0]
    found = {
        "records": n, "classes": row["classes"], "one_class": int(row["classes"] == 1), "k": row["k"],
        "c_avg": n / row["classes"] / publication.k, "class_size_average": n / row["classes"],
        "class_size_greatest": row["greatest"], "discernibility": row["squares"],
        "discernibility_suppression": row["squares"] + (came - n) * came,
        "information_loss": row["loss"], "precision": 1 - float(row["loss"]) / (n * attributes),
        "total_information_loss": row["edges"], "ncp": row["leaves"], "gcp": float(row["leaves"]) / (n * attributes),
        "risk_highest": 1 / row["least"], "risk_average": float(row["risk"]) / n,
        "dropped": came - clustered,
        "flat_hierarchies": sum(not a.is_number and a.hierarchy is None for a in publication.attributes),
    }  # fmt: skip
    if numbers:
        found |= {"numeric_information_loss": row["numbers"], "numeric_information_loss_average": float(row["numbers"]) / (n * numbers)}
    if publication.roles.person is not None:
        found["persons"] = made.placed.agg(F.countDistinct("person")).collect()[0][0]
    yield from ((name, [(None, value)]) for name, value in found.items())
    yield "suppressed", [("outlier", clustered - n)]
    for number, value in achieved.items():
        if number >= 0:
            demand = publication.demands[number]
            yield demand.rule.metric.name, [(made.of.tested[demand.sensitive], value)]


def _losing(made: Made) -> DataFrame:
    """The classes with what a record of each loses: `loss` as in precision, by `edges`, `leaves` and in `numbers`."""
    from pyspark.sql import functions as F

    numbers = [i for i, a in enumerate(made.of.publication.attributes) if a.is_number]
    trees = [i for i, a in enumerate(made.of.publication.attributes) if not a.is_number]
    ends = [end for i in numbers for end in (F.min(f"lost.a{i}").alias(f"first{i}"), F.max(f"lost.b{i}").alias(f"last{i}"))]
    of = made.classes
    if ends:
        of = of.crossJoin(F.broadcast(made.classes.agg(*ends)))
    sums: dict[str, Column] = {}
    lost = []
    for i in numbers:
        width = F.col(f"last{i}") - F.col(f"first{i}")
        share = F.when(width > 0, (F.col(f"lost.b{i}") - F.col(f"lost.a{i}")) / width).otherwise(0.0)
        lost.append(F.when(F.col(f"lost.a{i}").isNull(), F.col(f"lost.n{i}")).otherwise(share))
    for name, letter in (("loss", "t"), ("edges", "e"), ("leaves", "v"), ("numbers", "")):
        of_trees = [F.col(f"lost.{letter}{i}") for i in trees] if letter else []
        sums[name] = reduce(add, [*lost, *of_trees], F.lit(0.0))
    return of.withColumns(sums)


def _with_persons(made: Made, of: DataFrame) -> DataFrame:
    """The classes with how many persons each has, where they are declared."""
    from pyspark.sql import functions as F

    if made.of.publication.roles.person is None:
        return of
    return of.join(made.placed.groupBy("class_id").agg(F.countDistinct("person").alias("persons")), "class_id")


def _left_out(made: Made) -> DataFrame:
    """One row a reason why records were left out."""
    from pyspark.sql import functions as F

    out = made.dealt.where("keys IS NULL")
    counts = [F.sum("size").alias("size")]
    if made.of.publication.roles.person is not None:
        counts.append(F.countDistinct("person").alias("persons"))
    return out.groupBy(F.lit("outlier").alias("reason")).agg(*counts)


def _values(made: Made, name: str) -> DataFrame:
    """The sensitive values of each class with how many records have them, most first."""
    from pyspark.sql import functions as F

    counted = made.placed.groupBy("class_id", of_struct("own", name).alias("value")).agg(F.sum("size").alias("size"))
    pairs = F.collect_list(F.struct((-F.col("size")).alias("order"), F.col("value").isNull().alias("last"), "value", "size"))
    listed = F.transform(F.array_sort(pairs), lambda pair: F.struct(pair["value"].alias("value"), pair["size"].alias("size")))
    return counted.groupBy("class_id").agg(listed.alias(f"values of {name}"))

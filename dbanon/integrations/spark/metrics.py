"""Classes and measures of a release on Spark, by the names of NAME_classes and NAME_metrics."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

from pyspark.sql import Column, DataFrame, functions as fn

from dbanon.integrations.spark.columns import named, of_struct
from dbanon.integrations.spark.release import Made
from dbanon.release.plan import metrics as plan_metrics, plan

_METRICS = "metric string, value double, better string, description string, published boolean"


def classes(made: Made) -> DataFrame:
    """Return one row an equivalence class, and one a reason why records were left out: the columns of NAME_classes."""
    publication = made.of.publication
    names = plan.published_schema_of(publication)
    _, quasi = plan.published_names(publication)
    of = _with_persons(made, _losing(made))
    shown = [fn.col("class_id").alias(names.class_id), fn.col("size").alias(names.size)]
    shown += [fn.col("persons").alias(names.persons)] if publication.roles.person is not None else []
    shown += [of_struct("published", name).alias(name) for name in quasi]
    shown.append((fn.col("loss") / len(made.of.quasi)).alias(names.loss))
    left = publication.options["suppress"] or publication.run.max_suppressed
    if left:
        of = of.withColumn("reason", fn.lit(None).cast("string")).unionByName(_left_out(made), allowMissingColumns=True)
        shown.append(fn.col("reason").alias(names.suppressed))
    for name in publication.roles.sensitive:
        of = of.join(_values(made, name), "class_id", "left")
        shown.append(fn.col(f"values of {name}").alias(name))
    return of.select(*shown).orderBy(named(names.class_id).asc_nulls_last())


def metrics(made: Made, achieved: Mapping[int, float]) -> DataFrame:
    """Return the measures of NAME_metrics that follow from counts of classes, one row each."""
    known = {name: list(found) for name, found in _measured(made, achieved)}
    persons = made.of.publication.roles.person is not None
    rows = [
        (f"{m.name}:{of}" if of else m.name, float(value), m.better, m.describe(persons), "classes" not in m.custodian)
        for m in plan_metrics.all_metrics()
        for of, value in known.get(m.name, ())
    ]
    return made.dealt.sparkSession.createDataFrame(rows, _METRICS)


def _measured(made: Made, achieved: Mapping[int, float]) -> Iterator[tuple[str, Sequence[tuple[str | None, Any]]]]:
    """Measures by name, with what each is of and its value."""
    publication, of = made.of.publication, _with_persons(made, _losing(made))
    count = fn.col("persons") if publication.roles.person is not None else fn.col("size")
    squares = fn.sum(fn.col("size").cast("decimal(38,0)") * fn.col("size"))
    exact = {
        name: fn.sum((fn.col("size") * fn.col(name)).cast("decimal(38,12)"))
        for name in ("loss", "edges", "leaves", "numbers")
    }
    row = of.agg(
        fn.count(fn.lit(1)).alias("classes"), fn.sum("size").alias("records"), fn.max("size").alias("greatest"),
        fn.min(count).alias("k"), squares.alias("squares"), fn.min(count).alias("least"),
        fn.sum((fn.col("size") / count).cast("decimal(38,12)")).alias("risk"),
        *(total.alias(name) for name, total in exact.items()),
    ).collect()[0]  # fmt: skip
    n, attributes = row["records"], len(made.of.quasi)
    numbers = sum(a.is_number for a in publication.attributes)
    came = made.source.count()
    clustered = made.dealt.agg(fn.sum("size")).collect()[0][0]
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
        found |= {
            "numeric_information_loss": row["numbers"],
            "numeric_information_loss_average": float(row["numbers"]) / (n * numbers),
        }
    if publication.roles.person is not None:
        found["persons"] = made.placed.agg(fn.countDistinct("person")).collect()[0][0]
    yield from ((name, [(None, value)]) for name, value in found.items())
    yield from _of_values(made)
    yield "suppressed", [("outlier", clustered - n)]
    for number, value in achieved.items():
        if number >= 0:
            demand = publication.model_requirements[number]
            yield demand.form_definition.metric.name, [(made.of.tested[demand.sensitive], value)]


def _of_values(made: Made) -> Iterator[tuple[str, Sequence[tuple[str | None, Any]]]]:
    """Measures of the values that are published as they are, and of attributes that are published as nothing."""
    publication, placed = made.of.publication, made.placed
    records = placed.agg(fn.sum("size")).collect()[0][0]
    person = publication.roles.person is not None
    counted = fn.countDistinct("person") if person else fn.sum("size")
    kept = [n for n in made.of.own if n in publication.roles.sensitive or n in publication.roles.other]
    unchanged = [of_struct("own", name).alias(f"u{i}") for i, name in enumerate(kept)]
    if unchanged:
        alike = placed.groupBy("class_id", *unchanged).agg(counted.alias("people"))
        yield "k_all", [(None, alike.agg(fn.min(fn.greatest("people", fn.lit(1)))).collect()[0][0])]
        alone = (
            placed.groupBy(*unchanged).agg(counted.alias("people"), fn.sum("size").alias("size")).where("people <= 1")
        )
        yield "unique_unchanged", [(None, alone.agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0])]
    one, rare = [], []
    every = made.placed.select("class_id").limit(0)
    for name in publication.roles.sensitive:
        value = of_struct("own", name).alias("value")
        held = placed.groupBy("class_id").agg(
            fn.countDistinct(fn.struct(value)).alias("values"), fn.sum("size").alias("size")
        )
        alike = held.where("values = 1")
        one.append((name, alike.agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0] / records))
        every = every.union(alike.select("class_id"))
        overall = placed.groupBy(value).agg(counted.alias("size"))
        rare.append((name, overall.where(fn.col("size") < publication.k).count()))
    if one:
        held = made.classes.join(every.distinct(), "class_id").agg(fn.coalesce(fn.sum("size"), fn.lit(0)))
        yield "homogeneous_share", [(None, held.collect()[0][0] / records), *one]
        yield "rare_sensitive_values", rare
    losing = _losing(made)
    whole = [fn.sum(fn.when(losing[f"own {i}"] >= 1, fn.col("size")).otherwise(0)) for i in range(len(made.of.quasi))]
    row = losing.agg(*whole).collect()[0]
    yield "fully_generalized", [(name, lost / records) for name, lost in zip(made.of.quasi, row, strict=True)]


def _losing(made: Made) -> DataFrame:
    """The classes with what a record of each loses: `loss` as in precision, by `edges`, `leaves` and in `numbers`;
    `own i` is what the attribute loses by itself, a category by leaves."""
    numbers = [i for i, a in enumerate(made.of.publication.attributes) if a.is_number]
    trees = [i for i, a in enumerate(made.of.publication.attributes) if not a.is_number]
    ends = [
        end
        for i in numbers
        for end in (fn.min(f"lost.a{i}").alias(f"first{i}"), fn.max(f"lost.b{i}").alias(f"last{i}"))
    ]
    of = made.classes
    if ends:
        of = of.crossJoin(fn.broadcast(made.classes.agg(*ends)))
    sums: dict[str, Column] = {f"own {i}": fn.col(f"lost.v{i}") for i in trees}
    lost = []
    for i in numbers:
        width = fn.col(f"last{i}") - fn.col(f"first{i}")
        share = fn.when(width > 0, (fn.col(f"lost.b{i}") - fn.col(f"lost.a{i}")) / width).otherwise(0.0)
        lost.append(fn.when(fn.col(f"lost.a{i}").isNull(), fn.col(f"lost.n{i}")).otherwise(share))
        sums[f"own {i}"] = lost[-1]
    for name, letter in (("loss", "t"), ("edges", "e"), ("leaves", "v"), ("numbers", "")):
        of_trees = [fn.col(f"lost.{letter}{i}") for i in trees] if letter else []
        sums[name] = reduce(add, [*lost, *of_trees], fn.lit(0.0))
    return of.withColumns(sums)


def _with_persons(made: Made, of: DataFrame) -> DataFrame:
    """Return the classes with how many persons each has, where they are declared."""
    if made.of.publication.roles.person is None:
        return of
    return of.join(made.placed.groupBy("class_id").agg(fn.countDistinct("person").alias("persons")), "class_id")


def _left_out(made: Made) -> DataFrame:
    """Return one row a reason why records were left out."""
    out = made.dealt.where("keys IS NULL")
    counts = [fn.sum("size").alias("size")]
    if made.of.publication.roles.person is not None:
        counts.append(fn.countDistinct("person").alias("persons"))
    return out.groupBy(fn.lit("outlier").alias("reason")).agg(*counts)


def _values(made: Made, name: str) -> DataFrame:
    """Return the sensitive values of each class with how many records have them, most first."""
    counted = made.placed.groupBy("class_id", of_struct("own", name).alias("value")).agg(fn.sum("size").alias("size"))
    pairs = fn.collect_list(
        fn.struct((-fn.col("size")).alias("order"), fn.col("value").isNull().alias("last"), "value", "size")
    )
    listed = fn.transform(
        fn.array_sort(pairs), lambda pair: fn.struct(pair["value"].alias("value"), pair["size"].alias("size"))
    )
    return counted.groupBy("class_id").agg(listed.alias(f"values of {name}"))

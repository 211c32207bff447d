"""Classes and metrics of a release on Spark, as NAME_classes and NAME_metrics have them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

from pyspark.sql import Column, DataFrame, functions as fn

from dbanon.integrations.spark.columns import quoted_column, shown_values, struct_field
from dbanon.integrations.spark.release import UncheckedRelease
from dbanon.release.plan import metrics as plan_metrics, plan

_METRICS = "metric string, value double, better string, description string, is_publishable boolean"


def classes(release: UncheckedRelease) -> DataFrame:
    """Return the rows of NAME_classes, ordered by class number; rows of suppressed records are last.

    One row per class: number, size, persons (with a person column), published values, average loss, and a list of
    values and counts for each sensitive column. If the call can suppress records, one more row counts them.
    """
    names = plan.published_schema_of(release.spec)
    _, quasi = plan.published_names(release.spec)
    rows = _with_persons(release, _class_losses(release))
    columns = [fn.col("class_id").alias(names.class_id), fn.col("size").alias(names.size)]
    columns += [fn.col("persons").alias(names.persons)] if release.spec.roles.person is not None else []
    columns += [struct_field("published", name).alias(name) for name in quasi]
    columns.append((fn.col("loss") / len(release.planner.quasi_columns)).alias(names.loss))
    if release.spec.options["suppress"] or release.spec.run.max_suppressed:
        rows = rows.withColumn("reason", fn.lit(None).cast("string")).unionByName(
            _suppressed_rows(release), allowMissingColumns=True
        )
        columns.append(fn.col("reason").alias(names.suppressed))
    for name in release.spec.roles.sensitive:
        rows = rows.join(_sensitive_values(release, name), "class_id", "left")
        columns.append(fn.col(f"values of {name}").alias(name))
    return rows.select(*columns).orderBy(quoted_column(names.class_id).asc_nulls_last())


def metrics(release: UncheckedRelease, achieved: Mapping[int, float]) -> DataFrame:
    """Return the rows of NAME_metrics whose metrics follow from counts of classes, one row per metric and column.

    The columns are metric, value, better, description and is_publishable. Other metrics are not available on Spark.

    Args:
        release: The release.
        achieved: What the gate measured, by number of the privacy model; -1 is the least number of persons.
    """
    values_by_metric = {name: list(values) for name, values in _metric_values(release, achieved)}
    persons = release.spec.roles.person is not None
    leaves = release.spec.options["leaves"]
    rows = [
        (
            f"{m.name}:{column}" if column else m.name,
            float(value),
            m.better,
            m.describe(persons),
            plan_metrics.is_published(m.name, leaves),
        )
        for m in plan_metrics.all_metrics()
        for column, value in values_by_metric.get(m.name, ())
    ]
    return release.assignments.sparkSession.createDataFrame(rows, _METRICS)


def _metric_values(
    release: UncheckedRelease, achieved: Mapping[int, float]
) -> Iterator[tuple[str, Sequence[tuple[str | None, Any]]]]:
    """Yield each metric's name with a list of (column, value) pairs; column is None for a metric of the whole release.

    `achieved` is what the gate measured by number of the privacy model.
    """
    classes = _with_persons(release, _class_losses(release))
    count = fn.col("persons") if release.spec.roles.person is not None else fn.col("size")
    squares = fn.sum(fn.col("size").cast("decimal(38,0)") * fn.col("size"))
    exact = {
        name: fn.sum((fn.col("size") * fn.col(name)).cast("decimal(38,12)"))
        for name in ("loss", "edges", "leaves", "numbers")
    }
    row = classes.agg(
        fn.count(fn.lit(1)).alias("classes"), fn.sum("size").alias("records"), fn.max("size").alias("greatest"),
        fn.min(count).alias("k"), squares.alias("squares"), fn.min(count).alias("least"),
        fn.sum((fn.col("size") / count).cast("decimal(38,12)")).alias("risk"),
        *(total.alias(name) for name, total in exact.items()),
    ).collect()[0]  # fmt: skip
    n, attributes = row["records"], len(release.planner.quasi_columns)
    numbers = sum(a.is_number for a in release.spec.attributes)
    n_source_records = release.source.count()
    n_clustered = release.assignments.agg(fn.sum("size")).collect()[0][0]
    values = {
        "records": n, "classes": row["classes"], "is_single_class": int(row["classes"] == 1), "k": row["k"],
        "c_avg": n / row["classes"] / release.spec.k, "class_size_average": n / row["classes"],
        "class_size_greatest": row["greatest"], "discernibility": row["squares"],
        "discernibility_suppression": row["squares"] + (n_source_records - n) * n_source_records,
        "information_loss": row["loss"], "precision": 1 - float(row["loss"]) / (n * attributes),
        "total_information_loss": row["edges"], "ncp": row["leaves"], "gcp": float(row["leaves"]) / (n * attributes),
        "risk_highest": 1 / row["least"], "risk_average": float(row["risk"]) / n,
        "columns_with_flat_hierarchy": sum(not a.is_number and a.hierarchy is None for a in release.spec.attributes),
    }  # fmt: skip
    if numbers:
        values |= {
            "numeric_information_loss": row["numbers"],
            "numeric_information_loss_average": float(row["numbers"]) / (n * numbers),
        }
    if release.spec.roles.person is not None:
        values["persons"] = release.published_records.agg(fn.countDistinct("person")).collect()[0][0]
    yield from ((name, [(None, value)]) for name, value in values.items())
    yield from _value_metrics(release)
    yield "dropped", [("null", n_source_records - n_clustered)]
    yield "suppressed", [(None, n_clustered - n)]
    for number, value in achieved.items():
        if number >= 0:
            demand = release.spec.model_requirements[number]
            yield demand.form_definition.metric.name, [(release.planner.sensitive_columns[demand.sensitive], value)]


def _value_metrics(release: UncheckedRelease) -> Iterator[tuple[str, Sequence[tuple[str | None, Any]]]]:
    """Yield the metrics of unchanged values, and of attributes that are fully generalized, as `_metric_values` does.

    With a person column, persons are counted in place of records to decide what is rare or unique.
    """
    published_records = release.published_records
    records = published_records.agg(fn.sum("size")).collect()[0][0]
    count_column = fn.countDistinct("person") if release.spec.roles.person is not None else fn.sum("size")
    unchanged_names = [
        n
        for n in release.planner.read_columns
        if n in release.spec.roles.sensitive or n in release.spec.roles.insensitive
    ]
    own_types = published_records.schema["own"].dataType
    shown_columns = [v for n in unchanged_names for v in shown_values(struct_field("own", n), own_types[n].dataType)]
    unchanged = [value.alias(f"u{i}") for i, value in enumerate(shown_columns)]
    if unchanged:
        groups = published_records.groupBy("class_id", *unchanged).agg(count_column.alias("people"))
        yield "k_full_record", [(None, groups.agg(fn.min(fn.greatest("people", fn.lit(1)))).collect()[0][0])]
        unique_groups = (
            published_records.groupBy(*unchanged)
            .agg(count_column.alias("people"), fn.sum("size").alias("size"))
            .where("people <= 1")
        )
        yield (
            "unique_by_unchanged_columns",
            [(None, unique_groups.agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0])],
        )
    homogeneous_shares, rare_counts = [], []
    homogeneous_classes = release.published_records.select("class_id").limit(0)
    for name in release.spec.roles.sensitive:
        value = struct_field("own", name).alias("value")
        records_in_classes = published_records.groupBy("class_id").agg(
            fn.countDistinct(fn.struct(value)).alias("values"), fn.sum("size").alias("size")
        )
        groups = records_in_classes.where("values = 1")
        homogeneous_shares.append((name, groups.agg(fn.coalesce(fn.sum("size"), fn.lit(0))).collect()[0][0] / records))
        homogeneous_classes = homogeneous_classes.union(groups.select("class_id"))
        overall = published_records.groupBy(value).agg(count_column.alias("size"))
        rare_counts.append((name, overall.where(fn.col("size") < release.spec.k).count()))
    if homogeneous_shares:
        records_in_classes = release.classes.join(homogeneous_classes.distinct(), "class_id").agg(
            fn.coalesce(fn.sum("size"), fn.lit(0))
        )
        yield "homogeneous_share", [(None, records_in_classes.collect()[0][0] / records), *homogeneous_shares]
        yield "n_rare_values", rare_counts
    losses = _class_losses(release)
    fully_generalized = [
        fn.sum(fn.when(losses[f"own {i}"] >= 1, fn.col("size")).otherwise(0))
        for i in range(len(release.planner.quasi_columns))
    ]
    row = losses.agg(*fully_generalized).collect()[0]
    yield (
        "fully_generalized",
        [(name, lost / records) for name, lost in zip(release.planner.quasi_columns, row, strict=True)],
    )


def _class_losses(release: UncheckedRelease) -> DataFrame:
    """Return the classes with added columns: the information loss of one record of each class, summed over attributes.

    - `loss` measures categories by levels of the hierarchy, as in the metric precision.
    - `edges` measures categories by edges, `leaves` by leaves.
    - `numbers` is the loss of numeric attributes only.
    - `own i` is the loss of attribute i alone, by leaves if it is a category.
    """
    numbers = [i for i, a in enumerate(release.spec.attributes) if a.is_number]
    trees = [i for i, a in enumerate(release.spec.attributes) if not a.is_number]
    ends = [
        end
        for i in numbers
        for end in (fn.min(f"lost.a{i}").alias(f"first{i}"), fn.max(f"lost.b{i}").alias(f"last{i}"))
    ]
    classes = release.classes
    if ends:
        classes = classes.crossJoin(fn.broadcast(release.classes.agg(*ends)))
    sums: dict[str, Column] = {f"own {i}": fn.col(f"lost.v{i}") for i in trees}
    number_losses = []
    for i in numbers:
        width = fn.col(f"last{i}") - fn.col(f"first{i}")
        share = fn.when(width > 0, (fn.col(f"lost.b{i}") - fn.col(f"lost.a{i}")) / width).otherwise(0.0)
        number_losses.append(fn.when(fn.col(f"lost.a{i}").isNull(), fn.col(f"lost.n{i}")).otherwise(share))
        sums[f"own {i}"] = number_losses[-1]
    for name, letter in (("loss", "t"), ("edges", "e"), ("leaves", "v"), ("numbers", "")):
        of_trees = [fn.col(f"lost.{letter}{i}") for i in trees] if letter else []
        sums[name] = reduce(add, [*number_losses, *of_trees], fn.lit(0.0))
    return classes.withColumns(sums)


def _with_persons(release: UncheckedRelease, classes: DataFrame) -> DataFrame:
    """Return the classes with the column `persons`, their number of persons; unchanged without a person column."""
    if release.spec.roles.person is None:
        return classes
    return classes.join(
        release.published_records.groupBy("class_id").agg(fn.countDistinct("person").alias("persons")), "class_id"
    )


def _suppressed_rows(release: UncheckedRelease) -> DataFrame:
    """Return one row with reason `outlier` and the number of suppressed records (and persons).

    No row if there are none.
    """
    suppressed = release.assignments.where("keys IS NULL")
    counts = [fn.sum("size").alias("size")]
    if release.spec.roles.person is not None:
        counts.append(fn.countDistinct("person").alias("persons"))
    return suppressed.groupBy(fn.lit("outlier").alias("reason")).agg(*counts)


def _sensitive_values(release: UncheckedRelease, name: str) -> DataFrame:
    """Return `class_id` and `values of NAME`: a list of (value, size) structs for each class, most frequent first.

    `size` is the number of records; at equal sizes NULL is last.
    """
    value_counts = release.published_records.groupBy("class_id", struct_field("own", name).alias("value")).agg(
        fn.sum("size").alias("size")
    )
    pairs = fn.collect_list(
        fn.struct((-fn.col("size")).alias("order"), fn.col("value").isNull().alias("last"), "value", "size")
    )
    value_list = fn.transform(
        fn.array_sort(pairs), lambda pair: fn.struct(pair["value"].alias("value"), pair["size"].alias("size"))
    )
    return value_counts.groupBy("class_id").agg(value_list.alias(f"values of {name}"))

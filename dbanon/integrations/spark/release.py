"""A release of a DataFrame: its parts are dealt out to classes, classes of all parts are put together, rows leave."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as fn

from dbanon import errors
from dbanon.algorithms import find
from dbanon.integrations.spark import partitioning
from dbanon.integrations.spark.columns import is_exact, is_hashed, named, of_struct
from dbanon.integrations.spark.encode import larger_table
from dbanon.integrations.spark.executor_tasks import dealt, kept
from dbanon.integrations.spark.session_call import Asked, LargerTable, Planned, planned
from dbanon.release.plan import plan

CELL = 50_000
"""Most tuples of a part, where the call does not say it."""


@dataclass(frozen=True)
class Made:
    """A release before it is judged.

    Of the source: `rows` those that are clustered; `dealt` these by kinds, with what is published of them
    (dbanon.integrations.spark.executor_tasks); `classes` one row a class: `class_id`, `keys`, `published`, `lost`,
    `size`, from the same `ordered` by keys; `released` the rows that would leave.
    """

    asked: Asked
    of: Planned
    source: DataFrame
    rows: DataFrame
    dealt: DataFrame
    ordered: DataFrame
    classes: DataFrame
    released: DataFrame

    def forget(self) -> None:
        """Return back what is kept of it."""
        for kept_ in (self.dealt, self.ordered, self.classes):
            kept_.unpersist()

    @property
    def placed(self) -> DataFrame:
        """Kinds of records and the class of each, those that are left out not among them."""
        return _classed(self.dealt, self.classes)


def make(asked: Asked, df: DataFrame, cell: int | None) -> Made:
    """The release of a DataFrame: clustered as one where it has at most `cell` combinations of quasi-identifiers, else
    in parts of at most so many. Raises what the table function raises, NeedsSinglePartitionError,
    NotSupportedOnSparkError, EmptySourceError."""
    of = planned(asked)
    if of.publication.run.noise is not None:
        raise errors.NotSupportedOnSparkError(asked.function, of.publication.run.noise.asked)
    source = df.select(fn.struct(*map(named, of.own)).alias("own"))
    rows = source
    if of.publication.options["nulls"] == "drop":
        rows = kept(asked, source.select("own.*")).select(fn.struct(*map(named, of.own)).alias("own"))
    of_part, kinds, larger = _parts(asked, of, rows, cell or CELL)
    found = dealt(of_part, kinds, larger).persist()
    try:
        wrong = found.where("error IS NOT NULL").agg(fn.min("error")).collect()[0][0]
        if wrong is not None:
            raise errors.PartitionFailedError(wrong)
        ordered = _ordered(of, found).persist()
        classes = _numbered(ordered).persist()
        return Made(asked, of, source, rows, found, ordered, classes, _released(of, _classed(found, classes)))
    except BaseException:
        found.unpersist()
        raise


def _parts(asked: Asked, of: Planned, rows: DataFrame, cell: int) -> tuple[Asked, DataFrame, LargerTable | None]:
    """What is asked of a part; kinds of records by part; and, where there are several, the table that these are of."""
    if all(is_exact(field.dataType) for field in rows.schema["own"].dataType.fields):
        kinds = rows.groupBy("own").agg(fn.count(fn.lit(1)).alias("weight"))
    else:  # equal numbers may read differently, and Spark would take one for all
        kinds = rows.withColumn("weight", fn.lit(1).cast("bigint"))
    tuples = kinds.select(*(of_struct("own", name) for name in of.quasi)).distinct().count()
    if tuples == 0:
        raise errors.EmptySourceError(asked.function, asked.name)
    if tuples <= cell:
        return asked, kinds.select(fn.lit(0).alias("part"), "own", "weight"), None
    _divisible(of, tuples, cell)
    larger = larger_table(of, kinds)
    return partitioning.of_part(asked, of), partitioning.parts(asked, kinds, larger, cell), larger


def _divisible(of: Planned, tuples: int, cell: int) -> None:
    """NeedsSinglePartitionError where the call asks for what takes the whole table."""
    publication = of.publication
    options, run = publication.options, publication.run
    compared = any(d.form_definition.uses_overall for d in publication.model_requirements)
    person = publication.roles.person
    wanted = {
        "suppress with a model that compares classes with the table": bool(options["suppress"]) and compared,
        "leaving out a number of records": run.max_suppressed is not None,
        "multi = 'joint'": publication.is_joint and len(of.tested) > 1,
        "influence": run.forest is not None,
        "leaving out duplicates or what lies out of bounds": bool(run.preprocessing.description),
        "codes for missing persons": person is not None and bool(publication.reading.missing_codes.get(person)),
        f"family {find(publication.algorithm).family}": find(publication.algorithm).family == "lattice",
    }
    for what, needed in wanted.items():
        if needed:
            raise errors.NeedsSinglePartitionError(publication.function, what, tuples, cell)


def _order(of: Planned) -> list[Column]:
    """What classes are ordered by, as in the release of a table."""
    columns = []
    for i, attribute in enumerate(of.publication.attributes):
        if attribute.is_number:
            columns += [f"l{i}", f"h{i}"]
        if not (attribute.is_number and of.publication.interval_format != "text"):
            columns.append(f"p{i}")
    return [of_struct("keys", column).asc_nulls_last() for column in columns]


def _ordered(of: Planned, found: DataFrame) -> DataFrame:
    """Return one row a class of all parts, in their order, and its `place` in the partition that it is in."""
    firsts = (fn.first(name).alias(name) for name in ("published", "lost"))
    classes = found.where("keys IS NOT NULL").groupBy("keys").agg(*firsts, fn.sum("size").alias("size"))
    return classes.orderBy(*_order(of)).withColumn("place", fn.monotonically_increasing_id())


def _numbered(ordered: DataFrame) -> DataFrame:
    """Return the classes numbered from 1, without bringing them to one place."""
    partition, place = fn.shiftright("place", 33), fn.col("place").bitwiseAND(2**33 - 1)
    first, offsets = 1, []
    for row in ordered.groupBy(partition.alias("partition")).count().orderBy("partition").collect():
        offsets.append((row["partition"], first))
        first += row["count"]
    table = fn.broadcast(ordered.sparkSession.createDataFrame(offsets, "partition bigint, first bigint"))
    numbered = ordered.join(table, partition == fn.col("partition"))
    return numbered.select((place + fn.col("first")).alias("class_id"), "keys", "published", "lost", "size")


def _classed(found: DataFrame, classes: DataFrame) -> DataFrame:
    known = classes.select("class_id", fn.col("keys").alias("known"))
    return found.join(known, fn.col("keys") == fn.col("known")).drop("known")


def _released(of: Planned, placed: DataFrame) -> DataFrame:
    """Return the rows as they leave, in an order that nothing but what they publish tells."""
    columns, quasi = plan.published_names(of.publication)
    shown = [of_struct("published" if name in quasi else "own", name).alias(name) for name in columns[:-1]]
    copies = fn.explode(fn.array_repeat(fn.lit(0), fn.col("size").cast("int")))
    rows = placed.withColumn("copy", copies).select(*shown, fn.col("class_id").alias(columns[-1]))
    order = [named(columns[-1])]
    for name in columns[:-1]:
        if name not in quasi:
            plain = is_hashed(rows.schema[name].dataType)
            order.append(named(name) if plain else fn.to_json(fn.struct(named(name).alias("v"))))
    return rows.repartition(named(columns[-1])).sortWithinPartitions(*order)

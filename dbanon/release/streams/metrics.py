"""Define the metrics of streams, as SQL over the counts of sql/release/streams/metrics.sql."""

from dataclasses import dataclass

from dbanon.sqltext.quote import Sql


@dataclass(frozen=True)
class StreamMetric:
    """One metric of a stream.

    Attributes:
        name: Its name.
        direction: 'higher' or 'lower', whichever is better.
        description: What it measures.
        sql: SQL of its value.
        is_publishable: It follows from the released rows alone.
        sql_where_dropped: SQL of its value if suppressed records have no rows (suppress = 'drop'); None if `sql`
            applies then, too.
    """

    name: str
    direction: str
    description: str
    sql: Sql
    is_publishable: bool = True
    sql_where_dropped: Sql | None = None


STREAM_METRICS = (
    StreamMetric(
        "records",
        "higher",
        "Number of records that have arrived.",
        Sql("r.records"),
        sql_where_dropped=Sql("r.records + dropped.records"),
    ),
    StreamMetric(
        "average_loss",
        "lower",
        "Mean loss of the records, from 0 to 1. The loss of a number is the width of its interval divided by the "
        "width of everything published. The loss of a category is the number of leaves below its node minus one, "
        "divided by the number of all leaves minus one. The loss of a suppressed record with a row is 1 (Cao et al. "
        "2011).",
        Sql("c.loss"),
    ),
    StreamMetric(
        "average_delay",
        "lower",
        "Mean number of records that arrive between a record and its publication.",
        Sql("r.delay"),
    ),
    StreamMetric(
        "delay",
        "lower",
        "Greatest number of records that arrive between a record and its publication.",
        Sql("r.longest"),
    ),
    StreamMetric(
        "suppression",
        "lower",
        "Share of the records that are suppressed because no class was found for them in time.",
        Sql("r.left_out::DOUBLE / r.records"),
        sql_where_dropped=Sql("dropped.records::DOUBLE / (r.records + dropped.records)"),
    ),
    StreamMetric(
        "k",
        "higher",
        "Least number of records (of persons, if a person column is declared) in a class when it is first published.",
        Sql("f.persons"),
        is_publishable=False,
    ),
    StreamMetric("classes", "higher", "Number of equivalence classes, by their published values.", Sql("c.classes")),
    StreamMetric(
        "reuse",
        "higher",
        "Share of the published records that joined a class after it was first published.",
        Sql("c.reused::DOUBLE / nullif(c.published, 0)"),
    ),
)

"""query_error('release'): relative error of random counts and averages on a release, compared with its source."""

from dbanon import errors
from dbanon.audit import audit_context, column_pairs
from dbanon.audit.parameters import SOURCE
from dbanon.errors.example import SAFE, Example
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.quote import Sql, literal
from dbanon.sqltext.templates import fill
from dbanon.table_functions.parameter_types import MAX_SEED, Columns, Float, Integer, PerColumn, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def query_error_sql(call: Call) -> Sql:
    """Return the SQL of query_error(): relative error of random queries on a release, compared with its source.

    Raises:
        UnsupportedTypeError, UnsupportedSettingError, UnknownHierarchyError: A column cannot be compared.
        DbanonError: As `audit_context.resolve_context` and `context_hierarchies`.
    """
    function, options = call.function.name, call.options
    context = audit_context.resolve_context(call, with_sensitive=False, with_person=False, needs_source=True)
    release, source = context.release, context.source
    attributes = audit_context.source_pairs(call, context, audit_context.context_hierarchies(call, context))
    return Sql(
        fill(
            "audit/query_error/query_error.sql",
            release=release.read,
            source=source.rows,
            attributes=attributes,
            averaging=any(a.is_averaged for a in attributes),
            most=min(int(options["predicates"]), len(attributes)),
            count=options["queries"],
            seed=options["seed"],
            selectivity=literal(options.number("selectivity")),
            error_floor=literal(options.number("error_floor")),
            sources=[
                {**column_pairs.source_check_values(function, s), **context.fingerprints} for s in (source, release)
            ],
            column_messages=column_pairs.column_message_values(function, release),
            say={
                "empty": error_sql(errors.EmptySourceError(function, source.shown)),
                "empty_release": error_sql(errors.EmptySourceError(function, release.shown)),
            },
        )
    )


FUNCTIONS = (
    TableFunction(
        "query_error",
        ("release",),
        (
            SOURCE,
            Parameter(
                "queries", Integer(1, 10**6), "Number of random queries, of one predicate and more in turn.", 1000
            ),
            Parameter(
                "predicates",
                Integer(1),
                "Greatest number of predicates of a query; never more than there are columns.",
                3,
            ),
            Parameter("seed", Integer(0, MAX_SEED), "Seed of the queries.", 1),
            Parameter(
                "qi",
                Columns(),
                "Columns of the predicates; default: the declared quasi-identifiers that were released.",
            ),
            Parameter(
                "hierarchies",
                PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"),
                "Hierarchies, as in the release.",
            ),
            Parameter(
                "selectivity",
                Float(0, 1, above=True),
                "Share of the records that a query would select if the columns were independent.",
                0.1,
            ),
            Parameter(
                "error_floor",
                Float(0, 1, above=True),
                "Least divisor of an error: this share of all records (of an averaged column: of its range).",
                0.001,
            ),
        ),
        "Returns the relative error of random counts and averages on a release compared with its source, by number "
        "of predicates.",
        handler=query_error_sql,
        example=Example("SELECT * FROM query_error('safe', queries = 100, seed = 1);", SAFE),
        positional_slots=("source",),
    ),
)

"""What is lost to learning: a model that learns from a release, beside one that learns from its source."""

from dbanon import errors
from dbanon.audit import audit_context, column_pairs
from dbanon.audit.audit_context import Tables
from dbanon.audit.column_pairs import Pair
from dbanon.audit.parameters import HIERARCHIES, QI, SOURCE
from dbanon.errors.example import SAFE, Example
from dbanon.source.catalog import Source
from dbanon.source.column_types import label_text
from dbanon.sqltext.quote import Sql, as_json, identifier
from dbanon.sqltext.templates import error_sql, fill, sql_placeholder
from dbanon.table_functions.parameter_types import MAX_SEED, Float, Integer, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction

MOST = 100
"""Values that a model can tell apart, at most."""


def statement(call: Call) -> Sql:
    """Return the SQL of `ml_utility(release, ...)`.

    Raises UnsupportedTypeError, UnsupportedSettingError, UnknownHierarchyError, MissingArgumentError,
    UnknownColumnError, ConflictingRolesError, TooManyTargetValuesError, TooFewTrainingRecordsError, MissingExtraError,
    and what `released.resolved` and `released.hierarchies` raise.
    """
    function, options = call.function.name, call.options
    tables = audit_context.resolved(call, judges=False, counts_persons=False, needs_source=True)
    release, source = tables.release, tables.source
    target = _target(call, tables)
    own = audit_context.hierarchies(call, tables)
    attributes = [
        column_pairs.attribute(call, release, source, Pair(i, column, published, own.get(column)))
        for i, (column, published) in enumerate(tables.qi.items())
    ]
    asked = {
        "function": function,
        "session": call.session.token,
        "seed": options["seed"],
        "train": options.number("train"),
        "most": options["records"],
    }
    return Sql(
        fill(
            "audit/ml_utility.sql",
            release=release.read,
            source=source.rows,
            attributes=attributes,
            true_label=_text(source, target),
            told_label=_text(release, target),
            request=as_json(asked),
            most=MOST,
            sources=[{**column_pairs.stands(function, s), **tables.fingerprints} for s in (source, release)],
            say={
                "empty": error_sql(errors.EmptySourceError(function, source.shown)),
                "empty_release": error_sql(errors.EmptySourceError(function, release.shown)),
                "few": error_sql(errors.TooFewTrainingRecordsError(function, source.shown, target)),
                "many": error_sql(
                    errors.TooManyTargetValuesError(function, source.shown, target, sql_placeholder("labels"), MOST)
                ),
            },
        )
    )


def _target(call: Call, tables: Tables) -> str:
    """Return the column that is predicted, as the source spells it: published as it is, and no quasi-identifier."""
    function, given = call.function.name, call.options.text("target")
    if given is None:
        names = [row.column for row in tables.declared if row.role.lower() == "sensitive"]
        released_ = [name for name in names if tables.release.spelled(name) is not None]
        if len(released_) != 1:
            raise errors.MissingArgumentError(
                function, "target", "a column that is published as it is", "target = 'disease'"
            )
        given = released_[0]
    column = tables.source.column(function, given, "target")
    tables.release.column(function, given, "target")
    if column in tables.qi:
        raise errors.ConflictingRolesError(function, tables.source.shown, column, ("quasi", "target"))
    return column


def _text(table: Source, column: str) -> Sql:
    name = table.spelled(column) or column
    return Sql(f"{label_text(identifier(name), table.columns[name])} COLLATE POSIX")


FUNCTIONS = (
    TableFunction(
        "ml_utility",
        ("release",),
        (
            SOURCE,
            Parameter(
                "target",
                Text("a column's name"),
                "The column that is predicted, published as it is; default: the declared sensitive one that was "
                "released.",
            ),
            QI,
            HIERARCHIES,
            Parameter(
                "train",
                Float(0, 1, above=True),
                "Share of the records that a model learns from; those of the source that are left test all models.",
                0.67,
            ),
            Parameter("records", Integer(2), "Records that a model learns from, at most.", 100_000),
            Parameter("seed", Integer(0, MAX_SEED), "Another seed, another split and forest.", 1),
        ),
        "How well a model that learned from a release predicts a column of raw records, beside one that learned from "
        "the source and the most frequent value.",
        handler=statement,
        example=Example("SELECT trained_on, accuracy, kept FROM ml_utility('safe', target = 'disease');", SAFE),
        placed=("source",),
    ),
)

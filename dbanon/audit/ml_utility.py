"""ml_utility('release'): compare models trained on a release with models trained on its source."""

from dbanon import errors
from dbanon.audit import audit_context, column_pairs
from dbanon.audit.parameters import HIERARCHIES, QI, SOURCE
from dbanon.errors.example import SAFE, Example
from dbanon.source.catalog import Source
from dbanon.source.column_types import label_text
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.quote import Sql, as_json, identifier
from dbanon.sqltext.templates import fill
from dbanon.table_functions.parameter_types import MAX_SEED, Float, Integer, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction

MAX_LABELS = 100
"""Maximum number of distinct values of the predicted column."""


def ml_utility_sql(call: Call) -> Sql:
    """Return the SQL of ml_utility(): accuracy of models trained on the release and on its source.

    They are compared with the most frequent value as a guess.

    Raises:
        UnknownColumnError, UnknownHierarchyError: A named column or hierarchy does not exist.
        ConflictingRolesError, MissingArgumentError: The target is a quasi-identifier, or cannot be inferred.
        UnsupportedTypeError, UnsupportedSettingError: A column cannot be compared.
        TooManyTargetValuesError, TooFewTrainingRecordsError: The target cannot be learned (raised when the SQL runs).
        MissingExtraError: scikit-learn is not installed (raised when the SQL runs).
        DbanonError: As `audit_context.resolve_context` and `context_hierarchies`.
    """
    function, options = call.function.name, call.options
    context = audit_context.resolve_context(call, with_sensitive=False, with_person=False, needs_source=True)
    release, source = context.release, context.source
    target = _target_column(call, context)
    attributes = audit_context.source_pairs(call, context, audit_context.context_hierarchies(call, context))
    request = {
        "function": function,
        "session": call.session.token,
        "seed": options["seed"],
        "train": options.number("train"),
        "most": options["records"],
        "clusters": options["clusters"],
    }
    return Sql(
        fill(
            "audit/ml_utility.sql",
            release=release.read,
            source=source.rows,
            attributes=attributes,
            true_label=_label_text(source, target),
            released_label=_label_text(release, target),
            request=as_json(request),
            most=MAX_LABELS,
            sources=[
                {**column_pairs.source_check_values(function, s), **context.fingerprints} for s in (source, release)
            ],
            column_messages=column_pairs.column_message_values(function, release),
            say={
                "empty": error_sql(errors.EmptySourceError(function, source.shown)),
                "empty_release": error_sql(errors.EmptySourceError(function, release.shown)),
                "few": error_sql(errors.TooFewTrainingRecordsError(function, source.shown, target)),
                "many": error_sql(
                    errors.TooManyTargetValuesError(
                        function, source.shown, target, sql_placeholder("labels"), MAX_LABELS
                    )
                ),
            },
        )
    )


def _target_column(call: Call, context: audit_context.AuditContext) -> str:
    """Return the column to be predicted, as the source spells it: the call's `target`, else the only sensitive one.

    The latter is the only declared sensitive column that the release publishes.

    Raises:
        MissingArgumentError: The call names none, and none or several are sensitive and published.
        UnknownColumnError: Source or release does not have the named column.
        ConflictingRolesError: It is a quasi-identifier.
    """
    function, requested = call.function.name, call.options.text("target")
    if requested is None:
        names = [row.column for row in context.declared if row.role.lower() == "sensitive"]
        released_names = [name for name in names if context.release.spelled(name) is not None]
        if len(released_names) != 1:
            raise errors.MissingArgumentError(
                function, "target", "a column that is published unchanged", "target = 'disease'"
            )
        requested = released_names[0]
    column = context.source.column(function, requested, "target")
    context.release.column(function, requested, "target")
    if column in context.qi:
        raise errors.ConflictingRolesError(function, context.source.shown, column, ("quasi", "target"))
    return column


def _label_text(table: Source, column: str) -> Sql:
    """Return SQL of a table's column `column`, which models predict, as text that is compared byte by byte."""
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
                "The column that is predicted, which is published unchanged; default: the declared sensitive column "
                "that was released.",
            ),
            QI,
            HIERARCHIES,
            Parameter(
                "train",
                Float(0, 1, above=True),
                "Share of the records from which a model learns; the remaining records of the source test all models.",
                0.67,
            ),
            Parameter("records", Integer(2), "Greatest number of records from which a model learns.", 100_000),
            Parameter("seed", Integer(0, MAX_SEED), "Seed of the split, of the forest and of k-means.", 1),
            Parameter(
                "clusters",
                Integer(2),
                "Number of clusters into which k-means divides the records, to compare those of the release with those "
                "of the source; default: none.",
                example="clusters = 5",
            ),
        ),
        "Returns how well a model that learned from a release predicts a column of raw records, compared with a "
        "model that learned from the source and with the most frequent value.",
        handler=ml_utility_sql,
        example=Example(
            "SELECT trained_on, accuracy, retained_gain FROM ml_utility('safe', target = 'disease');", SAFE
        ),
        positional_slots=("source",),
    ),
)

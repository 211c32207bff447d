"""Write the messages of the release gate, as SQL expressions that are completed while the statement runs."""

from collections.abc import Mapping, Sequence

from dbanon import errors
from dbanon.gate import transformed
from dbanon.gate.request import CheckedModel, GateRequest
from dbanon.gate.rules import QuasiRule
from dbanon.sqltext.column_labels import derived_reference
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, text

RELEASE_CHECKS = {
    "unknown": ("records in no class", "counted.unknown"),
    "misassigned": ("records that are less than once in a class, kinds of records", "counted.misassigned"),
    "lost": ("records are missing or too many, released records", "counted.records_assigned"),
    "outliers": ("records were suppressed in addition to those that suppress allows", "left_out.records"),
    "untrue": ("records differ from those of the source, among", "counted.records_assigned"),
    "small": ("classes below k", "classes.small"),
    "finer": ("values that the policy does not publish unchanged", "classes.finer"),
    "columns": ("other columns than the policy publishes, or in another order, of records", "reread.records"),
    "stated": ("metrics that do not follow from the released rows, records", "(SELECT sum(size) FROM released_values)"),
    "reread": ("the records that were read differ from those of the source, records", "reread.records"),
    "order": ("rows that are not in the order of their published values", "ordered.rows"),
    "confused": (
        "classes that publish the same values under several class_ids, or several under one",
        "classes.confused",
    ),
    "uncovered": ("published values that do not cover the original", "covered.uncovered"),
}
"""The checks of a release by name: the problem that each reports, and SQL that counts its cases."""

STREAM_CHECKS = {
    "late": ("records that were published too late, or before they arrived", "counted.late"),
    "crowded": ("moments at which delta or more records were pending", "crowded.moments"),
    "arrival": ("records that arrived before their predecessor", "earlier.records"),
    "beyond": ("intervals that reach beyond what had arrived when they were first published", "reached.classes"),
    "shown": ("suppressed records that are not hidden", "shown.records"),
}
"""The additional checks of a stream."""

_STREAM_COUNT_SQL = {
    **dict.fromkeys(("lost", "columns"), "counted.records"),
    "stated": "(SELECT count(*) FROM published_rows)",
    "untrue": "counted.untrue",
    "unknown": "counted.unknown",
}
"""SQL that counts, in a stream, the cases of checks that it shares with a release."""


def release_refusals(
    request: GateRequest, rules: Sequence[QuasiRule], models: Sequence[CheckedModel]
) -> dict[str, Sql]:
    """Return the gate's messages about a release, by check name.

    Each message is a SQL expression whose count of cases is computed when the statement runs. The checks are
    RELEASE_CHECKS (k is one of them), `modelN` for each other privacy model, `strangeI` for each quasi-identifier, and,
    if there are pseudonyms, those of rows that a pseudonym links.
    """
    model_checks = {
        f"model{m.number}": (f"classes that do not meet {m.parameter} on {m.column}", f"{_violations(m)}.classes")
        for m in models
    }
    value_checks = {
        f"strange{rule.i}": (
            f"classes with published values of {rule.raw_name} that none of their records may have",
            f"{derived_reference('outside', rule.raw_name)}.classes",
        )
        for rule in rules
    }
    return _refusal_messages(request.function, RELEASE_CHECKS | model_checks | value_checks) | _link_refusals(
        request, models
    )


def stream_refusals(function: str, models: Sequence[CheckedModel]) -> dict[str, Sql]:
    """Return those of the gate's messages about a stream that differ from the messages about a release, by check name.

    Each message is a SQL expression whose count of cases is computed when the statement runs. They are for
    STREAM_CHECKS, the checks of a release whose cases are counted by other SQL in a stream, and `modelN` for each
    privacy model other than k.
    """
    checks = STREAM_CHECKS | {name: (RELEASE_CHECKS[name][0], count) for name, count in _STREAM_COUNT_SQL.items()}
    model_checks = {
        f"model{m.number}": (
            f"classes that do not meet {m.parameter} on {m.column} when they are first seen",
            f"judged.{_violations(m)}",
        )
        for m in models
    }
    return _refusal_messages(function, checks | model_checks)


def _refusal_messages(function: str, checks: Mapping[str, tuple[str, str]]) -> dict[str, Sql]:
    """Return, for each check, the message of a GateRefusedError as a SQL expression that computes its count of cases.

    `checks` gives for each check the problem that the message states and SQL that counts the cases.
    """
    return {
        name: error_sql(errors.GateRefusedError(function, problem, sql_placeholder(count)))
        for name, (problem, count) in checks.items()
    }


def _violations(model: CheckedModel, *, is_linked: bool = False) -> Sql:
    """Return the name of the relation, or column, that counts the classes in which a privacy model does not hold."""
    return derived_reference(f"{'linked ' if is_linked else ''}violations of {model.parameter}", model.column)


def _link_refusals(request: GateRequest, models: Sequence[CheckedModel]) -> dict[str, Sql]:
    """Return the messages about pseudonyms that link a person's rows, by check name, as SQL; {} without pseudonyms.

    `alone`: linked rows below k. `rarely`: linked rows with rare values. `merged COLUMN`: distinct values of the column
    that share a pseudonym. `followedN`: linked rows that do not meet privacy model number N.
    """
    function, table, k = request.function, request.table, int(request.options["k"])
    pseudonym_columns = [
        name for name in request.transformed if transformed.policy_role_and_settings(request, name)[0] == "pseudonym"
    ]
    if not pseudonym_columns:
        return {}
    allowed_rare = {fold_case(n) for n in request.options.columns("allow_rare")}
    unchecked_columns = (*request.roles.sensitive, *pseudonym_columns)
    rare_columns = [n for n in request.unchanged if n not in unchecked_columns and fold_case(n) not in allowed_rare]
    n_unlinked_persons, n_rare_persons = (
        sql_placeholder(f"(SELECT persons FROM {name})") for name in ("linked_below_k", "rare_linked")
    )
    link_errors: dict[str, Exception] = {
        "alone": errors.LinkedRowsBelowKError(function, table, pseudonym_columns, n_unlinked_persons, k),
        "rarely": errors.LinkedRowsRareValuesError(function, table, pseudonym_columns, rare_columns, n_rare_persons, k),
    }
    for name in request.unchanged:
        if name in pseudonym_columns:
            length = transformed.pseudonym_length(transformed.policy_role_and_settings(request, name)[1])
            n_merged_texts, min_length = (
                sql_placeholder(f"(SELECT {count} FROM {derived_reference('merged', name)})")
                for count in ("texts", "coalesce(least, 0)")
            )
            link_errors[f"merged {name}"] = errors.PseudonymCollisionError(
                function, n_merged_texts, f"{table}.{name}", length, min_length
            )
    link_errors |= {
        f"followed{m.number}": errors.LinkedRowsMissModelError(
            function,
            table,
            pseudonym_columns,
            m.parameter,
            m.column,
            sql_placeholder(f"{_violations(m, is_linked=True)}.classes"),
        )
        for m in models
    }
    return {name: error_sql(error) for name, error in link_errors.items()}


ALL_TABLES_CHECKS = {
    "people": ("people are missing or published twice, of", "(SELECT count(*) FROM reader)"),
    "small": ("classes below k over all tables", "classes.small"),
    "confused": ("classes with several class_ids, or class_ids with several classes", "classes.confused"),
    "pseudonyms": ("pseudonyms that do not follow from the published values", "pseudonyms.people"),
    "stated": ("metrics that do not follow from the released rows, people", "(SELECT count(*) FROM reader)"),
}
"""The checks of all tables together by name: the problem that each reports, and SQL that counts its cases."""

TABLE_CHECKS = {
    "columns": ("other columns than the policy publishes, or in another order, of rows", "{judged}.rows"),
    "unknown": ("rows without a row of the source, or with the same one as another row", "{judged}.unknown"),
    "untrue": ("rows with an unchanged column that differs from the source", "{judged}.untrue"),
    "uncovered": ("rows with published values that do not cover the original", "{judged}.uncovered"),
    "finer": ("values that the policy does not publish unchanged", "{judged}.finer"),
    "order": ("rows that are not in the order of what they publish", "{ordered}.rows"),
    "foreign": ("rows under a pseudonym of no person or of another person", "{foreign}.rows"),
    "lost": ("classes with fewer or more rows of a person than all of the class have", "classes.{lost}"),
}
"""The checks of one table; `{judged}` and so on stand for the names that the statement gives to what it counts."""

NOT_DIVERSE = "classes in which too many people have the same value of {}, or that have too few"
"""The problem of a sensitive column that is not diverse enough."""


def diversity_refusal(function: str, table: str, column: str) -> Sql:
    """Return the gate's message that a related table's classes are not diverse in a sensitive column, as a SQL string.

    The message states no count.

    Args:
        function: The function that was called.
        table: The related table as messages name it.
        column: The sensitive column.
    """
    return text(str(errors.GateRefusedError(function, f"{table}: {NOT_DIVERSE.format(column)}", "l")))


def table_refusals(
    function: str, checks: Mapping[str, tuple[str, str]], table: str, raw_name: str = ""
) -> dict[str, Sql]:
    """Return the gate's messages about a related table, by check name.

    Each message is a SQL expression whose count of cases is computed when the statement runs.

    Args:
        function: The function that was called.
        checks: For each check, the problem that the message states and SQL that counts its cases, with placeholders for
            relations.
        table: The table as messages name it.
        raw_name: The name of the table in statements.
    """
    relations = {step: derived_reference(step, raw_name) for step in ("judged", "ordered", "foreign", "lost")}
    return {
        name: error_sql(
            errors.GateRefusedError(function, f"{table}: {problem}", sql_placeholder(count.format_map(relations)))
        )
        for name, (problem, count) in checks.items()
    }

"""Write error messages about source, policy and call as SQL, which completes them while the statement runs."""

from collections.abc import Mapping, Sequence

from dbanon import errors
from dbanon.policy.hierarchies.messages import shared_hierarchy_messages
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.quote import Sql


def input_error_messages(spec: ReleaseSpec, unchanged: Sequence[PassthroughColumn]) -> Mapping[str, Sql]:
    """Return the error messages about source, policy and call by name, such as 'empty', as SQL expressions.

    Nothing is checked here. Numbers in the messages are computed when the statement runs.
    """
    function, table = spec.function, spec.source.shown
    selection_text = spec.run.preprocessing.description
    selected_table = f"{table}, {selection_text}," if selection_text else table
    table_without_outliers = f"{table} without its outliers"
    records, persons = sql_placeholder("records"), sql_placeholder("persons")
    rare = [u.raw_name for u in unchanged if u.check_rare]
    has_transformed = any(name in spec.transformed for name in rare)
    error_by_name = {
        "policy_changed": errors.PolicyChangedError(function, table),
        "shadowed": errors.ShadowedTableError(function, table, str(spec.source.sql)),
        "empty": errors.EmptySourceError(function, selected_table),
        "nothing_left": errors.AllRowsExcludedError(function, selected_table),
        "rare_together": errors.RareCombinationError(
            function, table, rare, sql_placeholder("count(*)"), spec.k, has_transformed
        ),
        "rare_together_left": errors.RareCombinationError(
            function, table_without_outliers, rare, sql_placeholder("rare_together.values"), spec.k, has_transformed
        ),
        "k_records": errors.KOutOfRangeError(function, records, selected_table, "rows", spec.k),
        "k_persons": errors.KOutOfRangeError(function, persons, selected_table, "persons", spec.k),
        "few_records": errors.TooFewRecordsError(function, selected_table, records, "row"),
        "few_persons": errors.TooFewRecordsError(function, selected_table, persons, "person"),
    }
    return {name: error_sql(error) for name, error in error_by_name.items()} | shared_hierarchy_messages()

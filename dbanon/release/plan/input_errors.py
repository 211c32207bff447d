"""Messages about the source, the policy and the call, as SQL that makes the text while the statement runs."""

from collections.abc import Sequence

from dbanon import errors
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import error_sql, sql_placeholder


def problems(call: ReleaseSpec, unchanged: Sequence[PassthroughColumn]) -> dict[str, Sql]:
    """What the source, the policy or the call may be wrong in, by a word for each."""
    function, table = call.function, call.source.shown
    cleaned = call.run.cleaning.said
    left = f"{table}, {cleaned}," if cleaned else table
    without = f"{table} without its outliers"
    records, persons = sql_placeholder("kept_facts.records"), sql_placeholder("kept_facts.persons")
    rare = [u.plain for u in unchanged if u.check_rare]
    made = any(name in call.made for name in rare)
    said = {
        "policy_changed": errors.PolicyChangedError(function, table),
        "shadowed": errors.ShadowedTableError(function, table, str(call.source.sql)),
        "empty": errors.EmptySourceError(function, left),
        "nothing_left": errors.AllRowsExcludedError(function, left),
        "rare_together": errors.RareCombinationError(function, table, rare, sql_placeholder("count(*)"), call.k, made),
        "rare_together_left": errors.RareCombinationError(
            function, without, rare, sql_placeholder("rare_together.values"), call.k, made
        ),
        "k_records": errors.KOutOfRangeError(function, records, left, "rows", call.k),
        "k_persons": errors.KOutOfRangeError(function, persons, left, "persons", call.k),
        "few_records": errors.TooFewRecordsError(function, left, records, "row"),
        "few_persons": errors.TooFewRecordsError(function, left, persons, "person"),
    }
    return {name: error_sql(error) for name, error in said.items()}

"""Messages about the source, the policy and the call, as SQL that makes the text while the statement runs."""

from collections.abc import Sequence

from dbanon import errors
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import later, message


def problems(call: ReleaseSpec, unchanged: Sequence[PassthroughColumn]) -> dict[str, Sql]:
    """What the source, the policy or the call may be wrong in, by a word for each."""
    function, table = call.function, call.source.shown
    cleaned = call.run.cleaning.said
    left = f"{table}, {cleaned}," if cleaned else table
    without = f"{table} without its outliers"
    records, persons = later("kept_facts.records"), later("kept_facts.persons")
    rare = [u.plain for u in unchanged if u.check_rare]
    made = any(name in call.made for name in rare)
    said = {
        "policy_changed": errors.PolicyChanged(function, table),
        "shadowed": errors.ShadowedTable(function, table, str(call.source.sql)),
        "empty": errors.EmptySource(function, left),
        "nothing_left": errors.NothingLeft(function, left),
        "rare_together": errors.RareTogether(function, table, rare, later("count(*)"), call.k, made),
        "rare_together_left": errors.RareTogether(function, without, rare, later("rare_together.values"), call.k, made),
        "k_records": errors.KOutOfRange(function, records, left, "rows", call.k),
        "k_persons": errors.KOutOfRange(function, persons, left, "persons", call.k),
        "few_records": errors.TooFew(function, left, records, "row"),
        "few_persons": errors.TooFew(function, left, persons, "person"),
    }
    return {name: message(error) for name, error in said.items()}

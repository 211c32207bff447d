"""What a statement says where it fails, as SQL that makes the text while it runs."""

from __future__ import annotations

from collections.abc import Sequence

from dbanon import errors
from dbanon.release.column_views import QuasiColumn, SensitiveColumn
from dbanon.release.passthrough_column import PassthroughColumn
from dbanon.release.publication import Publication
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.template import later, message


def problems(call: Publication, unchanged: Sequence[PassthroughColumn]) -> dict[str, Sql]:
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
        "k_records": errors.KOutOfRange(function, left, call.k, records, "rows"),
        "k_persons": errors.KOutOfRange(function, left, call.k, persons, "persons"),
        "few_records": errors.TooFew(function, left, records, "row"),
        "few_persons": errors.TooFew(function, left, persons, "person"),
    }
    return {name: message(error) for name, error in said.items()}


GATE = {
    "unknown": ("records in no class", "counted.unknown"),
    "lost": ("records are missing or too many, released records", "counted.rows_out"),
    "outliers": ("records more are left out than suppress allows", "left_out.records"),
    "untrue": ("records are not those of the source, or have another value, among", "counted.rows_out"),
    "small": ("classes below k", "classes.small"),
    "finer": ("values that the policy does not let out as they are", "classes.finer"),
    "columns": ("other columns than the policy lets out, or in another order, of records", "reread.records"),
    "stated": ("figures that do not follow from the released rows, records", "(SELECT sum(size) FROM released)"),
    "reread": ("the source was read as other records than it has, records", "reread.records"),
    "order": ("rows that are not in the order of what they publish", "ordered.rows"),
    "confused": (
        "classes that publish the same values under several class_ids, or several under one",
        "classes.confused",
    ),
    "uncovered": ("published values that do not cover the original", "counted.uncovered"),
}
"""What the gate refuses, and SQL that counts it."""


def refusals(call: Publication, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn]) -> dict[str, Sql]:
    """What the release gate says, by a word for each check, a number for each model and each quasi-identifier."""
    refused = dict(GATE)
    for model in (model for of in sensitive for model in of.models):
        what = f"classes that do not meet {model.parameter} on {model.plain}"
        refused[f"model{model.number}"] = what, f"judged_{model.number}.classes"
    for q in quasi:
        what = f"classes with published values of {q.plain} that none of their records may have"
        refused[f"strange{q.i}"] = what, f"strange_{q.i}.classes"
    said = {
        name: message(errors.GateRefused(call.function, what, later(count))) for name, (what, count) in refused.items()
    }
    return said | (_of_links(call, sensitive) if call.links else {})


def _of_links(call: Publication, sensitive: Sequence[SensitiveColumn]) -> dict[str, Sql]:
    """What the gate says of the pseudonyms that link rows; of two values that share one by the column's number."""
    function, table, links = call.function, call.source.shown, call.links
    allowed = {n.lower() for n in call.options.columns("allow_rare")}
    rare = [n for n in call.unchanged if n not in (*call.roles.sensitive, *links) and n.lower() not in allowed]
    alone, rarely = (later(f"(SELECT persons FROM {of})") for of in ("alone", "rarely"))
    said: dict[str, Exception] = {
        "alone": errors.LinkedAlone(function, table, links, alone, call.k),
        "rarely": errors.LinkedRare(function, table, links, rare, rarely, call.k),
    }
    for i, name in enumerate(call.unchanged):
        if name in links:
            length = int(str(call.made[name].how["length"]))
            merged, least = (later(f"(SELECT {of} FROM merged_{i})") for of in ("texts", "coalesce(least, 0)"))
            said[f"merged{i}"] = errors.SharedPseudonym(function, f"{table}.{name}", merged, length, least)
    for model in (model for of in sensitive for model in of.models):
        count = later(f"followed_{model.number}.classes")
        said[f"followed{model.number}"] = errors.LinkedModel(
            function, table, links, model.parameter, model.plain, count
        )
    return {name: message(error) for name, error in said.items()}

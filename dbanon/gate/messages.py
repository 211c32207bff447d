"""Messages of the release gate, as SQL that makes the text while the statement runs."""

from collections.abc import Mapping, Sequence

from dbanon import errors
from dbanon.gate import transformed
from dbanon.gate.request import CheckedModel, GateRequest
from dbanon.gate.rules import Rule
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import later, message

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
"""What the gate refuses of a release, by a word for each check, and SQL that counts it."""

STREAM = {
    "late": ("records that left too late, or before they arrived", "counted.late"),
    "arrival": ("records that arrived before the one that came before them", "earlier.records"),
    "beyond": ("intervals that reach beyond what had arrived when they were first published", "reached.classes"),
    "shown": ("records that are left out and not hidden", "shown.records"),
}
"""What the gate refuses of a stream in addition."""

_STREAM_COUNTS = {
    **dict.fromkeys(("lost", "columns"), "counted.records"),
    "stated": "(SELECT count(*) FROM leaving)",
    "untrue": "counted.untrue",
    "unknown": "counted.unknown",
    "uncovered": "covered.uncovered",
}
"""SQL that counts what is refused of a stream in the words of a release."""


def refusals(request: GateRequest, rules: Sequence[Rule], models: Sequence[CheckedModel]) -> dict[str, Sql]:
    """Return the messages about a release, by a word for each check, a number for each model and quasi-identifier."""
    unmet = {
        f"model{m.number}": (f"classes that do not meet {m.parameter} on {m.column}", f"judged_{m.number}.classes")
        for m in models
    }
    strange = "classes with published values of {} that none of their records may have"
    untrue = {f"strange{rule.i}": (strange.format(rule.plain), f"strange_{rule.i}.classes") for rule in rules}
    return _refused(request.function, GATE | unmet | untrue) | _link_refusals(request, models)


def stream_refusals(function: str, models: Sequence[CheckedModel]) -> dict[str, Sql]:
    """Return the messages about a stream, where they differ from those about a release."""
    refused = STREAM | {name: (GATE[name][0], count) for name, count in _STREAM_COUNTS.items()}
    unmet = {
        f"model{m.number}": (
            f"classes that do not meet {m.parameter} on {m.column} when they are first seen",
            f"judged.values{m.number}",
        )
        for m in models
    }
    return _refused(function, refused | unmet)


def _refused(function: str, refused: Mapping[str, tuple[str, str]]) -> dict[str, Sql]:
    return {
        name: message(errors.GateRefusedError(function, what, later(count))) for name, (what, count) in refused.items()
    }


def _link_refusals(request: GateRequest, models: Sequence[CheckedModel]) -> dict[str, Sql]:
    """Return messages about pseudonyms that link rows.

    About two values with one pseudonym by the number of the column.
    """
    function, table, k = request.function, request.table, int(request.options["k"])
    links = [name for name in request.transformed if transformed.declared(request, name)[0] == "pseudonym"]
    if not links:
        return {}
    allowed = {n.lower() for n in request.options.columns("allow_rare")}
    no_rare = (*request.roles.sensitive, *links)
    rare = [n for n in request.unchanged if n not in no_rare and n.lower() not in allowed]
    alone, rarely = (later(f"(SELECT persons FROM {name})") for name in ("alone", "rarely"))
    said: dict[str, Exception] = {
        "alone": errors.LinkedRowsBelowKError(function, table, links, alone, k),
        "rarely": errors.LinkedRowsRareValuesError(function, table, links, rare, rarely, k),
    }
    for i, name in enumerate(request.unchanged):
        if name in links:
            length = transformed.pseudonym_length(transformed.declared(request, name)[1])
            merged, least = (later(f"(SELECT {count} FROM merged_{i})") for count in ("texts", "coalesce(least, 0)"))
            said[f"merged{i}"] = errors.PseudonymCollisionError(function, merged, f"{table}.{name}", length, least)
    said |= {
        f"followed{m.number}": errors.LinkedRowsMissModelError(
            function, table, links, m.parameter, m.column, later(f"followed_{m.number}.classes")
        )
        for m in models
    }
    return {name: message(error) for name, error in said.items()}

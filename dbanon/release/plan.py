"""From one validated call to the SQL text that answers it: pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict
from typing import cast

from dbanon import errors
from dbanon.policy.attribute import Attribute
from dbanon.release import column_views, measures
from dbanon.release.gate_rules import rules
from dbanon.release.publication import Publication
from dbanon.sqltext.quote import Sql, as_json, identifier, literal, text
from dbanon.sqltext.template import fill, fill_text, later, message


def statement(call: Publication) -> str:
    """The SQL of NAME (`release`), NAME_classes (`classes`), NAME_metrics (`metrics`), `inference` or `influence`."""
    values = _values(call)
    if call.kind == "metrics":
        values["metrics"] = _metrics(values, bool(call.options.get("divergence")), call.noise is not None)
    if call.kind == "inference":
        values["support"] = call.options["support"] or call.k
    return fill(f"release/{'' if call.noise is None else 'noise/'}{call.kind}.sql", **values)


def filled(template: str, call: Publication, only: Container[str] | None = None, **more: object) -> str:
    """Another statement about the same publication, about some of its columns where `only` is given."""
    values = _values(call)
    if only is not None:
        for kind in ("quasi_output", "unchanged"):
            listed = cast(Sequence[Mapping[str, object]], values[kind])
            values[kind] = [c for c in listed if c["plain"] in only]
        left = {c["i"] for c in cast(Sequence[Mapping[str, object]], values["unchanged"])}
        values["tested"] = [t for t in cast(Sequence[Mapping[str, object]], values["tested"]) if t["u"] in left]
    return fill(template, **(values | more))


def roles(call: Publication) -> dict[str, str]:
    """What each column of the source is in this publication."""
    known = {q.quasi.column: "quasi" for q in call.attributes}
    known |= dict.fromkeys(call.roles.sensitive, "sensitive") | dict.fromkeys(call.roles.other, "other")
    if call.roles.person is not None:
        known[call.roles.person] = "person"
    return {column: known.get(column, "withheld") for column in call.source.columns}


def _values(call: Publication) -> dict[str, object]:
    function, table = call.function, call.source.shown
    typed = call.options["intervals"] != "text"
    quasi = [column_views.quasi(call, i, a) for i, a in enumerate(call.attributes)]
    unchanged = column_views.unchanged(call)
    checked = [str(u["plain"]) for u in unchanged if u["check_rare"]]
    checked = [str(u["plain"]) for u in unchanged if u["check_rare"]]
    tested = column_views.tested(call, unchanged)
    for q in quasi:
        q["drawn"] = call.noise is not None and (bool(q["is_number"]) or call.noise.categories)
    released = _published(call, quasi, "r.")
    released |= {
        str(u["plain"]): [{"plain": u["plain"], "name": u["name"], "expression": Sql(f"r.u{u['i']}")}]
        for u in unchanged
    }
    output = [column for name in call.source.columns for column in released.get(name, ())]
    quasi_output = [column for columns in _published(call, quasi, "").values() for column in columns]
    prepared = ["within bounds"] * bool(call.bounds) + ["without duplicates"] * call.distinct
    left = f"{table}, {' and '.join(prepared)}," if prepared else table
    records, persons = later("kept_facts.records"), later("kept_facts.persons")
    class_name = _free("class_id", {str(o["plain"]) for o in output})
    own_names = {str(c["plain"]) for c in (*quasi_output, *unchanged)}
    who = {"person": column_views.person(call), "key": column_views.key(call)}
    source = call.source.sql
    held = {"whole": source, "left_out": {"only": None, **call.left_out}}
    if call.left_out:
        source = Sql(fill("release/part/left.sql", quasi=quasi, unchanged=unchanged, held=None, **who, **held))
    return {
        **who,
        **held,
        "source": source,
        "quasi": quasi,
        "ranged": [q for q in quasi if not q["drawn"]],
        "unchanged": unchanged,
        "tested": tested,
        "trees": [*(q for q in quasi if not q["is_number"]), *(s["tree"] for s in tested if s["tree"])],
        "check_together": len(checked) > 1,
        "joint": call.options["multi"] == "joint",
        "magnitudes": "magnitudes" in call.reads,
        "widens": call.widens,
        "noise": call.noise is not None,
        "distinct": call.distinct,
        "bounds": [
            {"i": q["i"], "low": call.bounds[str(q["plain"])][0], "high": call.bounds[str(q["plain"])][1]}
            for q in quasi
            if q["plain"] in call.bounds
        ],
        "by_column": call.noise is not None and call.noise.by_column,
        "keep": call.keep,
        "version": None,
        "k": call.k,
        "nulls": call.options["nulls"],
        "suppress": Sql(repr(call.options["suppress"])) if call.options["suppress"] else None,
        "typed": typed,
        "escape": call.options["escape"],
        "sub_heights": call.options["eloss_height"] == "sub",
        "fingerprint_sql": call.fingerprint_sql,
        "fingerprint": text(call.fingerprint),
        "bare": text(call.source.table.lower()) if call.source.bare else None,
        "request": _cluster_request(call),
        "output": output,
        "tie_by": column_views.tie_by(call, unchanged),
        "quasi_output": quasi_output,
        "class_id": identifier(class_name),
        "class_name": class_name,
        **rules(call),
        "origin": call.source.sql if call.source.is_table and not call.left_out else Sql("as_it_came"),
        "copies": identifier(_free("copies", {class_name, *(str(o["plain"]) for o in output)})),
        "place": identifier(_free("place", {class_name, *(str(o["plain"]) for o in output)})),
        "copy": identifier(_free("copy", {class_name, *(str(o["plain"]) for o in output)})),
        "size_name": _free("size", own_names),
        "names": {n: identifier(_free(n, own_names)) for n in ("size", "persons", "loss", "suppressed")},
        "flat_count": sum(not a.is_number and a.hierarchy is None for a in call.attributes),
        "say": {
            "policy_changed": message(errors.PolicyChanged(function, table)),
            "shadowed": message(errors.ShadowedTable(function, table, str(call.source.sql))),
            "empty": message(errors.EmptySource(function, left)),
            "nothing_left": message(errors.NothingLeft(function, left)),
            "rare_together": message(errors.RareTogether(function, table, checked, later("count(*)"), call.k)),
            "rare_together_left": message(
                errors.RareTogether(
                    function, f"{table} without its outliers", checked, later("rare_together.values"), call.k
                )
            ),
            "k_records": message(errors.KOutOfRange(function, left, call.k, records, "rows")),
            "k_persons": message(errors.KOutOfRange(function, left, call.k, persons, "persons")),
            "few_records": message(errors.TooFew(function, left, records, "row")),
            "few_persons": message(errors.TooFew(function, left, persons, "person")),
        },
        "gate_say": {
            name: message(errors.GateRefused(function, what, later(count))) for name, (what, count) in _GATE.items()
        }
        | {
            f"model{m['number']}": message(
                errors.GateRefused(function, str(m["refused"]), later(f"judged_{m['number']}.classes"))
            )
            for s in tested
            for m in cast(Sequence[Mapping[str, object]], s["models"])
        }
        | {
            f"strange{q['i']}": message(
                errors.GateRefused(
                    function,
                    f"classes with published values of {q['plain']} that none of their records may have",
                    later(f"strange_{q['i']}.classes"),
                )
            )
            for q in quasi
        },
    }


_GATE = {
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


def _free(name: str, taken: set[str]) -> str:
    """The name, with underscores until it differs from those of the table."""
    lowered = {t.lower() for t in taken}
    while name.lower() in lowered:
        name += "_"
    return name


def _published(call: Publication, quasi: list[dict[str, object]], of: str) -> dict[str, list[dict[str, object]]]:
    """The published columns of each quasi-identifier, by its name; `of` qualifies what they are made from.

    Columns that keep their name have it; the names of typed bounds give way to them.
    """
    form = call.options["intervals"]
    bounded = {str(q["plain"]) for q in quasi if q["is_number"] and form == "bounds"}
    shown = (*(str(q["plain"]) for q in quasi), *call.roles.sensitive, *call.roles.other)
    taken = {name for name in shown if name not in bounded}
    columns: dict[str, list[dict[str, object]]] = {}
    for q in quasi:
        i, name = q["i"], str(q["plain"])
        if name in bounded:
            made = {_free(f"{name}_min", taken): f"{of}low{i}", _free(f"{name}_max", taken): f"{of}high{i}"}
        elif q["is_number"] and form == "struct":
            pair = f"{{'low': {of}low{i}, 'high': {of}high{i}}}"
            made = {name: f"CASE WHEN {of}low{i} IS NOT NULL THEN {pair} END"}
        else:
            made = {name: f"{of}p{i}"}
        taken.update(made)
        columns[name] = [
            {"plain": n, "name": identifier(n), "label": text(n), "expression": Sql(e)} for n, e in made.items()
        ]
    return columns


def _cluster_request(call: Publication) -> Sql:
    """The first argument of the clustering UDF, as a JSON literal."""
    return as_json(
        {
            "function": call.function,
            "algorithm": call.algorithm,
            "k": call.k,
            "person": call.roles.person is not None,
            "options": dict(call.own_options),
            "session": call.session,
            "models": [d.fields() for d in call.demands],
            "joint": call.options["multi"] == "joint",
            "suppress": call.options["suppress"],
            "improve": call.options["improve"],
            "heights": "edges" if call.options["eloss_height"] == "sub" else "top",
            "sensitive": _tested_names(call),
            "forest": None if call.forest is None else dict(call.forest),
            "noise": None if call.noise is None else asdict(call.noise),
            "attributes": [
                {
                    "name": a.quasi.column,
                    "kind": "number" if a.is_number else "tree",
                    "integral": a.is_integral,
                    "bare": call.options["intervals"] != "text",
                    "weight": a.quasi.settings.weight,
                    "max_level": _max_level(a),
                    "round": a.round,
                }
                for a in call.attributes
            ],
        }
    )


def _tested_names(call: Publication) -> list[str]:
    """Names of the sensitive columns that models are about or that the algorithm reads: all of them, or none."""
    return list(call.roles.sensitive) if call.demands or "sensitive" in call.reads else []


def _max_level(attribute: Attribute) -> int | None:
    """Steps that are left to a value after min_level was applied."""
    settings = attribute.quasi.settings
    return None if settings.max_level is None else settings.max_level - (settings.min_level or 0)


def _metrics(values: Mapping[str, object], divergence: bool, noise: bool) -> list[dict[str, object]]:
    """Template values of the measures that apply; `divergence`: the costly one too, `noise`: those of noise."""
    sensitive = any(u["is_sensitive"] for u in cast(Sequence[Mapping[str, object]], values["unchanged"]))
    number = any(q["is_number"] for q in cast(Sequence[Mapping[str, object]], values["quasi"]))
    have = {"sensitive": sensitive, "person": values["person"] is not None, "number": number}
    have |= {
        "unchanged": bool(values["unchanged"]),
        "divergence": divergence,
        "prepared": bool(values["bounds"] or values["distinct"]),
        "": True,
    }
    tested = cast(Sequence[Mapping[str, Sequence[Mapping[str, object]]]], values["tested"])
    parameters = {str(m["parameter"]) for s in tested for m in s["models"]}
    kind = "noise" if noise else "classes"
    unit = "distinct persons" if have["person"] else "records (no person column: one person may have several)"
    return [
        {
            "name": text(m.name),
            "better": text(m.better),
            "what": text(m.what.replace("{unit}", unit)),
            "position": m.place,
            "published": literal(kind not in m.custodian),
            "sql": fill_text(m.sql, values),
        }
        for m in measures.all_metrics()
        if have.get(m.needs, m.needs in parameters) and kind in m.of
    ]

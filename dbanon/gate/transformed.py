"""How the release gate recomputes what is published in place of a column: a pseudonym, a mask, a shifted date.

It reads the policy itself and takes nothing from `made_columns` or dbanon.policy.transforms.settings. Its functions of
keys share no code with those that made the columns, and its masks and dates are other formulas.
"""

import json
from collections.abc import Mapping, Sequence

from dbanon.gate import pseudonym_key
from dbanon.gate.missing_codes import FLOATS, column
from dbanon.gate.request import GateRequest
from dbanon.sqltext.quote import Sql, text

ROLES = ("pseudonym", "mask", "shift")

_LENGTHS = {"hex": 32, "base32": 26, "digits": 30, "uuid": 36}


def read(request: GateRequest, name: str) -> Sql:
    """What must leave in a column of one of these roles."""
    role, form = declared(request, name)
    if role == "mask":
        return _masked(told(request, name), form)
    if role == "pseudonym":
        return Sql(f"dbanon_pseudonym_again({told(request, name)}, {text(json.dumps(_written(request, name, form)))})")
    days = Sql(f"dbanon_shift_again({told(request, str(request.roles.person))}, {_days(request, form)})")
    return _shifted(column(request, name), request.columns[name], days)


def told(request: GateRequest, name: str) -> Sql:
    """Return the text of a column, by which equal values are equal."""
    value, type_ = column(request, name), request.columns[name]
    if type_ in FLOATS:
        value = Sql(f"CASE WHEN {value} = 0 THEN 0::{type_} ELSE {value} END")
    elif type_ == "TIMESTAMP WITH TIME ZONE":
        value = Sql(f"epoch_us({value})")
    return Sql(f"({value})::VARCHAR")


def links(request: GateRequest) -> list[str]:
    """Return the columns whose pseudonyms leave, in the table's order."""
    lowered = {n.lower() for p in ("withhold", "identifier") for n in request.options.columns(p)}
    lowered.add((request.options.text("person") or "").lower())
    return [n for n in request.columns if n.lower() not in lowered and declared(request, n)[0] == "pseudonym"]


def are_alike(request: GateRequest, names: Sequence[str]) -> bool:
    """Whether pseudonyms that are equal where values are equal are also written alike: readers see that they are."""
    forms: dict[tuple[bytes, object], set[str]] = {}
    for name in names:
        how = _written(request, name, declared(request, name)[1])
        forms.setdefault((pseudonym_key.fingerprint(str(how["key"])), how["scope"]), set()).add(
            json.dumps([how["format"], how["length"], how["prefix"]])
        )
    return all(len(of) == 1 for of in forms.values())


def _written(request: GateRequest, name: str, form: Mapping[str, str]) -> dict[str, object]:
    """How the pseudonyms of a column are made.

    Of several of a table only those of the person have the scope of the release as it is.
    """
    how = _keyed(request, form) | {
        "format": _format(form),
        "length": pseudonym_length(form),
        "prefix": form.get("prefix", ""),
    }
    several = [row.role.lower() for row in request.declared].count("pseudonym") > 1
    if several and name.lower() != person(request) and "scope" not in form:
        how["scope"] = "column " + json.dumps([_scope(request), name.lower()])
    return how


def _format(form: Mapping[str, str]) -> str:
    return form.get("format", "hex").lower()


def pseudonym_length(form: Mapping[str, str]) -> int:
    """Return how many characters a pseudonym with these settings has, without its prefix."""
    return int(form.get("length", _LENGTHS[_format(form)]))


def person(request: GateRequest) -> str | None:
    """The column by which persons must be counted, in lower case; None where the policy and the call say nothing."""
    declared = {row.column.lower(): (row.role.lower(), dict(row.settings.form)) for row in request.declared}
    asked = request.options.text("person")
    if asked is not None:
        return asked.lower()
    named = [name for name, (role, _) in declared.items() if role == "person"]
    named += [n for n, (of, form) in declared.items() if of == "pseudonym" and form.get("person", "").lower() == "true"]
    named += [name for name, (role, _) in declared.items() if role == "pseudonym"]
    return named[0] if named else None


def declared(request: GateRequest, name: str) -> tuple[str, Mapping[str, str]]:
    """Return the role of a column in the policy and its settings; an empty role where the policy has no row."""
    rows = [row for row in request.declared if row.column.lower() == name.lower()]
    return (rows[0].role.lower(), dict(rows[0].settings.form)) if rows else ("", {})


def _keyed(request: GateRequest, form: Mapping[str, str]) -> dict[str, object]:
    scope = f"scope {form['scope']}" if "scope" in form else _scope(request)
    return {"key": form.get("key", "env:DBANON_KEY"), "scope": scope}


def _scope(request: GateRequest) -> str:
    """Return the scope where the policy names none: that of all versions of a view, or of calls with these options."""
    if request.context.view is not None:
        schema, name = (json.dumps(part.lower()) for part in request.context.view)
        return f"release [{schema}, {name}]"
    options = {name: request.options[name] for name in request.options}
    parts = [json.dumps(part, default=str) for part in (request.algorithm, request.table.lower(), options)]
    return f"call [{', '.join(parts)}]"


def _days(request: GateRequest, form: Mapping[str, str]) -> Sql:
    return text(json.dumps(_keyed(request, form) | {"days": int(form["days"])}))


def _masked(value: Sql, form: Mapping[str, str]) -> Sql:
    """Kept characters are cut out by their places, and what is between is filled up."""
    first, last = int(form.get("first", 0)), int(form.get("last", 0))
    n, character = f"length_grapheme({value})", text(form.get("character", "*"))
    hidden = f"rpad('', ({n} - CASE WHEN {n} > {first + last} THEN {first + last} ELSE 0 END)::INTEGER, {character})"
    begin = f"CASE WHEN {n} > {first + last} THEN substring_grapheme({value}, 1, {first}) ELSE '' END"
    end = f"CASE WHEN {n} > {first + last} THEN substring_grapheme({value}, {n} - {last} + 1, {last}) ELSE '' END"
    return Sql(f"CASE WHEN {value} IS NOT NULL THEN concat({begin}, {hidden}, {end}) END")


def _shifted(value: Sql, type_: str, days: Sql) -> Sql:
    """Days, or microseconds, counted from 1970. Nothing is published of a person nobody knows."""
    if type_ == "DATE":
        moved = f"DATE '1970-01-01' + (date_diff('day', DATE '1970-01-01', {value}) + {days})::INTEGER"
    else:
        moved = f"make_timestamp(epoch_us({value}) + {days}::BIGINT * 86400000000)"
        moved = f"{moved} AT TIME ZONE 'UTC'" if type_ == "TIMESTAMP WITH TIME ZONE" else moved
    return Sql(f"CASE WHEN {days} IS NULL THEN NULL WHEN NOT isfinite({value}) THEN {value} ELSE TRY({moved}) END")

"""How the release gate recomputes what is published in place of a column: a pseudonym, a mask, a shifted date.

It reads the policy itself and takes nothing from `made_columns` or dbanon.pseudonym.settings. Its functions of keys
share no code with those that made the columns, and its masks and dates are other formulas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from dbanon.release.gate_codes import FLOATS, column
from dbanon.release.publication import Publication
from dbanon.sqltext.quote import Sql, text

ROLES = ("pseudonym", "mask", "shift")

_LENGTHS = {"hex": 32, "base32": 26, "digits": 30, "uuid": 36}


def read(call: Publication, name: str) -> Sql:
    """What must leave in a column of one of these roles."""
    role, form = _declared(call, name)
    if role == "mask":
        return _masked(told(call, name), form)
    if role == "pseudonym":
        kind = form.get("format", "hex").lower()
        length = int(form.get("length", _LENGTHS[kind]))
        how = _keyed(call, form) | {"format": kind, "length": length, "prefix": form.get("prefix", "")}
        return Sql(f"dbanon_pseudonym_again({told(call, name)}, {text(json.dumps(how))})")
    days = Sql(f"dbanon_shift_again({told(call, str(call.roles.person))}, {_days(call, form)})")
    return _shifted(column(call, name), call.source.columns[name], days)


def told(call: Publication, name: str) -> Sql:
    """The text of a column, by which equal values are equal."""
    value, type_ = column(call, name), call.source.columns[name]
    if type_ in FLOATS:
        value = Sql(f"CASE WHEN {value} = 0 THEN 0::{type_} ELSE {value} END")
    elif type_ == "TIMESTAMP WITH TIME ZONE":
        value = Sql(f"epoch_us({value})")
    return Sql(f"({value})::VARCHAR")


def link(call: Publication) -> str | None:
    """The column whose pseudonyms leave."""
    lowered = {n.lower() for p in ("withhold", "identifier") for n in call.options.columns(p)}
    lowered.add((call.options.text("person") or "").lower())
    shown = [n for n in call.source.columns if n.lower() not in lowered and _declared(call, n)[0] == "pseudonym"]
    return shown[0] if shown else None


def _declared(call: Publication, name: str) -> tuple[str, Mapping[str, str]]:
    rows = [row for row in call.policy.declared if row.column.lower() == name.lower()]
    return (rows[0].role.lower(), dict(rows[0].settings.form)) if rows else ("", {})


def _keyed(call: Publication, form: Mapping[str, str]) -> dict[str, object]:
    scope = f"scope {form['scope']}" if "scope" in form else call.scope
    return {"key": form.get("key", "env:DBANON_KEY"), "scope": scope}


def _days(call: Publication, form: Mapping[str, str]) -> Sql:
    return text(json.dumps(_keyed(call, form) | {"days": int(form["days"])}))


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

"""Recompute transformed columns for the release gate: pseudonyms, masks and shifted dates.

The module reads the policy itself and uses nothing of `dbanon.release.spec.transformed_columns` or
`dbanon.policy.transforms`. Its keyed functions share no code with those that made the columns, and it uses other
formulas for masks and dates.
"""

import json
from collections.abc import Mapping, Sequence

from dbanon.gate import pseudonyms
from dbanon.gate.missing_codes import FLOAT_TYPES, column_value
from dbanon.gate.request import GateRequest
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, text

ROLES = ("pseudonym", "mask", "shift")

_DEFAULT_LENGTHS = {"hex": 32, "base32": 26, "digits": 30, "uuid": 36}


def expected_value(request: GateRequest, name: str) -> Sql:
    """Return SQL of the value that a transformed column (pseudonym, mask or shifted date) must publish.

    The SQL recomputes it from the source column; pseudonyms and shifts call the gate's own UDFs.
    """
    role, settings = policy_role_and_settings(request, name)
    if role == "mask":
        return _mask_expression(value_text(request, name), settings)
    if role == "pseudonym":
        return Sql(
            f"dbanon_pseudonym_again({value_text(request, name)}, "
            f"{text(json.dumps(_pseudonym_settings(request, name, settings)))})"
        )
    shift_settings = text(json.dumps(_key_and_scope(request, settings) | {"days": int(settings["days"])}))
    days = Sql(f"dbanon_shift_again({value_text(request, str(request.roles.person))}, {shift_settings})")
    return _shift_expression(column_value(request, name), request.columns[name], days)


def value_text(request: GateRequest, name: str) -> Sql:
    """Return SQL of a column's value as text: instants as microseconds, -0.0 as 0.0, other types as DuckDB casts them.

    So equal values have equal texts. Codes for missing values are read as NULL.
    """
    value, type_ = column_value(request, name), request.columns[name]
    if type_ in FLOAT_TYPES:
        value = Sql(f"CASE WHEN {value} = 0 THEN 0::{type_} ELSE {value} END")
    elif type_ == "TIMESTAMP WITH TIME ZONE":
        value = Sql(f"epoch_us({value})")
    return Sql(f"({value})::VARCHAR")


def published_pseudonyms(request: GateRequest) -> list[str]:
    """Return the columns with the policy role pseudonym that are published, in the order of the table.

    Columns that the call withholds, or names as identifier or person, are not published.
    """
    withheld = {fold_case(n) for p in ("withhold", "identifier") for n in request.options.columns(p)}
    withheld.add(fold_case(request.options.text("person") or ""))
    return [
        n
        for n in request.columns
        if fold_case(n) not in withheld and policy_role_and_settings(request, n)[0] == "pseudonym"
    ]


def have_equal_formats(request: GateRequest, names: Sequence[str]) -> bool:
    """Return whether all pseudonym columns with equal keys and scopes also have the same format, length and prefix.

    If they differ, the gate sees different pseudonyms for equal values, and overlooks that a reader could link the
    columns by their common beginnings. Keys are compared by their content, which is read.

    Args:
        request: The request.
        names: The names of the pseudonym columns.
    """
    formats: dict[tuple[bytes, object], set[str]] = {}
    for name in names:
        settings = _pseudonym_settings(request, name, policy_role_and_settings(request, name)[1])
        formats.setdefault((pseudonyms.fingerprint(str(settings["key"])), settings["scope"]), set()).add(
            json.dumps([settings["format"], settings["length"], settings["prefix"]])
        )
    return all(len(key_formats) == 1 for key_formats in formats.values())


def _pseudonym_settings(request: GateRequest, name: str, settings: Mapping[str, str]) -> dict[str, object]:
    """Return the settings of a column's pseudonyms with defaults: key, scope, format, length and prefix.

    If the policy declares several pseudonyms, a column without the setting `scope` gets a scope of its own, within that
    of the release; the column that identifies persons gets that of the release. `settings` are those of the column in
    the policy.
    """
    pseudonym_settings = _key_and_scope(request, settings) | {
        "format": _format(settings),
        "length": pseudonym_length(settings),
        "prefix": settings.get("prefix", ""),
    }
    has_several = [row.role.lower() for row in request.declared].count("pseudonym") > 1
    if has_several and fold_case(name) != person_column(request) and "scope" not in settings:
        pseudonym_settings["scope"] = "column " + json.dumps([_default_scope(request), name.lower()])
    return pseudonym_settings


def _format(settings: Mapping[str, str]) -> str:
    """Return the format of a pseudonym in lower case: hex (the default), base32, digits or uuid."""
    return settings.get("format", "hex").lower()


def pseudonym_length(settings: Mapping[str, str]) -> int:
    """Return the number of characters of a pseudonym without prefix: the setting `length`, or the format's default."""
    return int(settings.get("length", _DEFAULT_LENGTHS[_format(settings)]))


def person_column(request: GateRequest) -> str | None:
    """Return the column that identifies persons, in lower case, or None if neither policy nor call name one.

    The first that exists: `person` of the call; the policy's column with the role person; the pseudonym with the
    setting person = true; the first pseudonym.
    """
    policy_columns = {
        fold_case(row.column): (row.role.lower(), dict(row.settings.settings)) for row in request.declared
    }
    call_person = request.options.text("person")
    if call_person is not None:
        return fold_case(call_person)
    candidates = [name for name, (role, _) in policy_columns.items() if role == "person"]
    candidates += [
        n
        for n, (policy_role, settings) in policy_columns.items()
        if policy_role == "pseudonym" and settings.get("person", "").lower() == "true"
    ]
    candidates += [name for name, (role, _) in policy_columns.items() if role == "pseudonym"]
    return candidates[0] if candidates else None


def policy_role_and_settings(request: GateRequest, name: str) -> tuple[str, Mapping[str, str]]:
    """Return the role (in lower case) and settings of a column in the policy; ('', {}) if it has no row there."""
    rows = [row for row in request.declared if fold_case(row.column) == fold_case(name)]
    return (rows[0].role.lower(), dict(rows[0].settings.settings)) if rows else ("", {})


def _key_and_scope(request: GateRequest, settings: Mapping[str, str]) -> dict[str, object]:
    """Return `key` (a reference such as env:NAME) and `scope` of a pseudonym or a date shift.

    Equal values get equal pseudonyms within a scope. The defaults are env:DBANON_KEY, and the view or else the call.
    """
    scope = f"scope {settings['scope']}" if "scope" in settings else _default_scope(request)
    return {"key": settings.get("key", "env:DBANON_KEY"), "scope": scope}


def _default_scope(request: GateRequest) -> str:
    """Return the text of the scope for pseudonyms and shifts of columns for which the policy sets none.

    It is that of the view if the release is a version of one, so that versions share pseudonyms. Otherwise it has the
    algorithm, the table and all options of the call.
    """
    if request.context.view is not None:
        schema, name = (json.dumps(part.lower()) for part in request.context.view)
        return f"release [{schema}, {name}]"
    options = {name: request.options[name] for name in request.options}
    parts = [json.dumps(part, default=str) for part in (request.algorithm, request.table.lower(), options)]
    return f"call [{', '.join(parts)}]"


def _mask_expression(value: Sql, settings: Mapping[str, str]) -> Sql:
    """Return SQL of a masked text: its first and last characters, the others replaced by a fill character.

    The settings are `first` and `last` (numbers of characters shown, 0 by default) and `character` ('*'). A text that
    is not longer than both together is masked completely. NULL stays NULL.
    """
    first, last = int(settings.get("first", 0)), int(settings.get("last", 0))
    length, character = f"length_grapheme({value})", text(settings.get("character", "*"))
    n_shown = f"CASE WHEN {length} > {first + last} THEN {first + last} ELSE 0 END"
    hidden = f"rpad('', ({length} - {n_shown})::INTEGER, {character})"
    shown_start = f"CASE WHEN {length} > {first + last} THEN substring_grapheme({value}, 1, {first}) ELSE '' END"
    end = f"substring_grapheme({value}, {length} - {last} + 1, {last})"
    shown_end = f"CASE WHEN {length} > {first + last} THEN {end} ELSE '' END"
    return Sql(f"CASE WHEN {value} IS NOT NULL THEN concat({shown_start}, {hidden}, {shown_end}) END")


def _shift_expression(value: Sql, type_: str, days: Sql) -> Sql:
    """Return SQL of a date or timestamp shifted by a number of days.

    NULL if `days` is NULL or the result is beyond the type; infinite dates are unchanged. The result counts days or
    microseconds from 1970.
    """
    if type_ == "DATE":
        shifted = f"DATE '1970-01-01' + (date_diff('day', DATE '1970-01-01', {value}) + {days})::INTEGER"
    else:
        shifted = f"make_timestamp(epoch_us({value}) + {days}::BIGINT * 86400000000)"
        shifted = f"{shifted} AT TIME ZONE 'UTC'" if type_ == "TIMESTAMP WITH TIME ZONE" else shifted
    return Sql(f"CASE WHEN {days} IS NULL THEN NULL WHEN NOT isfinite({value}) THEN {value} ELSE TRY({shifted}) END")

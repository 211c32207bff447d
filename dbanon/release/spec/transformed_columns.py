"""Columns that are published as something made of them (pseudonyms, masks, shifted dates), as SQL."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.column_roles import Roles
from dbanon.policy.transforms import settings
from dbanon.policy.transforms.settings import Made, Mask, Pseudonym, Shift
from dbanon.runtime import secret_keys as keys
from dbanon.source.catalog import Source
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql, text
from dbanon.sqltext.templates import error_sql

SHIFTED = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
"""Types of dates that are shifted."""


class KeyFileWarning(UserWarning):
    """Others than the owner may read the file of a key."""


@dataclass(frozen=True)
class MadeColumn:
    """A column that is published as something made of it: its role and settings, the type that is published, and how it
    is made. `how` is what the functions are told, as JSON: of a key where it is, not what it is; `key_id` is its id
    and `scope` whose pseudonyms are equal (both None for a mask)."""

    role: str
    of: Made
    type: str
    how: Mapping[str, object]
    key_id: str | None = None

    @property
    def scope(self) -> str | None:
        return None if self.key_id is None else str(self.how["scope"])

    @property
    def told(self) -> Sql:
        """What the functions are told, as SQL."""
        return text(json.dumps(self.how, sort_keys=True))


def resolve(
    function: str, source: Source, declared: tuple[DeclaredColumn, ...], roles: Roles, scope: str
) -> dict[str, MadeColumn]:
    """The columns of one call that are made; `scope` is whose pseudonyms are equal unless the policy names another.

    Of several pseudonyms each has a scope of its own within this one, but for that of the person: equal values of two
    columns have unequal pseudonyms. The keys are looked for here, so that what is wrong with one is said before
    anything is read. Raises InvalidTransformSettingError, UnreadableKeyReferenceError, PseudonymKeyMissingError,
    WeakPseudonymKeyError, CannotTransformColumnError (a type or a person that does not fit),
    PseudonymFormatMismatchError.
    """
    forms = {row.column.lower(): dict(row.settings.form) for row in declared}
    several = sum(row.role.lower() == "pseudonym" for row in declared) > 1
    found = {}
    for name, role in roles.made.items():
        shown, type_ = f"{source.shown}.{name}", source.columns[name]
        of = settings.made(shown, role, forms.get(name.lower(), {}))
        if role == "shift" and type_ not in SHIFTED:
            raise errors.CannotTransformColumnError(
                function, shown, role, f"it has the type {type_}", f"one of {', '.join(SHIFTED)}"
            )
        if role == "shift" and roles.person is None:
            accepted = "a table whose policy says who a person is (role person or pseudonym)"
            raise errors.CannotTransformColumnError(
                function, shown, role, "all dates of a person are shifted alike", accepted
            )
        if role != "shift" and person_value(Sql("NULL"), type_) is None:
            accepted = "numbers, dates, times, text, booleans, enums or UUIDs"
            raise errors.CannotTransformColumnError(function, shown, role, f"it has the type {type_}", accepted)
        key = keys.find_key(of.key) if isinstance(of, Pseudonym | Shift) else None
        if key is not None:
            _warn_of_file(key.reference)
        found[name] = MadeColumn(
            role,
            of,
            type_ if role == "shift" else "VARCHAR",
            _how(of, scope if not several or role == "shift" or name == roles.person else own_scope(scope, name)),
            None if key is None else key.id,
        )
    _check_forms(function, source, found)
    return found


def own_scope(scope: str, column: str) -> str:
    """Return the scope of a pseudonym that is not the only one of its table, nor the person's."""
    return f"column {json.dumps([scope, column.lower()])}"


def _check_forms(function: str, source: Source, made: Mapping[str, MadeColumn]) -> None:
    """PseudonymFormatMismatchError where columns share key and scope, by which one value leaves alike in all of
    them, and not the form: readers who know how pseudonyms are written would link what the gate sees as two."""
    seen: dict[tuple[str | None, str | None], tuple[str, object]] = {}
    for name, of in made.items():
        if isinstance(of.of, Pseudonym):
            first, form = seen.setdefault((of.key_id, of.scope), (name, of.of.form))
            if form != of.of.form:
                raise errors.PseudonymFormatMismatchError(function, [first, name], source.shown)


def _how(of: Made, scope: str) -> dict[str, object]:
    if isinstance(of, Mask):
        return {}
    keyed: dict[str, object] = {"key": of.key, "scope": scope if of.scope is None else f"scope {of.scope}"}
    if isinstance(of, Shift):
        return keyed | {"days": of.days}
    return keyed | {"format": of.form.format, "length": of.form.length, "prefix": of.form.prefix}


def _warn_of_file(reference: str) -> None:
    mode = keys.shared_file_mode(reference)
    if mode is not None:
        said = f"{reference} has the mode {mode}: others than its owner may read the key. Hint: chmod 600."
        warnings.warn(said, KeyFileWarning, stacklevel=2)


def sql(function: str, shown: str, made: MadeColumn, value: Sql, type_: str, person: Sql | None) -> Sql:
    """What is published of a column: `value` is how it is read, `person` the person of the record."""
    of = made.of
    if isinstance(of, Pseudonym):
        return Sql(f"dbanon_pseudonym({as_text(value, type_)}, {made.told})")
    if isinstance(of, Mask):
        plain, n = as_text(value, type_), f"length_grapheme({as_text(value, type_)})"
        masked = f"repeat({text(of.character)}, {n} - {of.first + of.last})"
        kept = f"left_grapheme({plain}, {of.first}) || {masked} || right_grapheme({plain}, {of.last})"
        return Sql(f"(CASE WHEN {n} <= {of.first + of.last} THEN repeat({text(of.character)}, {n}) ELSE {kept} END)")
    days = f"dbanon_shift(CAST({person} AS VARCHAR), {made.told})"
    moved = {
        "DATE": f"{value} + {days}",
        "TIMESTAMP": f"{value} + to_days({days})",
        "TIMESTAMP WITH TIME ZONE": f"({value} AT TIME ZONE 'UTC' + to_days({days})) AT TIME ZONE 'UTC'",
    }[type_]
    beyond = error_sql(errors.DateShiftOutOfRangeError(function, shown, type_, of.days))
    return Sql(
        f"(CASE WHEN isfinite({value}) THEN coalesce(TRY({moved}), "
        f"CASE WHEN {days} IS NOT NULL THEN error({beyond}) END) "
        f"WHEN {days} IS NOT NULL THEN {value} END)"
    )


def as_text(value: Sql, type_: str) -> Sql:
    """Return the text of a value, such that equal values have equal texts: the integer 1 and the text '1' are alike."""
    return Sql(f"CAST({person_value(value, type_)} AS VARCHAR)")


def keyed(made: Mapping[str, MadeColumn]) -> dict[str, str]:
    """For the ledger: what the values of each column follow from, beside its own; of a key its id, and the scope."""
    return {name: _basis(of) for name, of in made.items()}


def _basis(made: MadeColumn) -> str:
    if isinstance(made.of, Mask):
        return f"first {made.of.first}, last {made.of.last}, character {made.of.character}"
    basis = f"key {made.key_id}, {made.scope}"
    return f"{basis}, {made.of.days} days" if isinstance(made.of, Shift) else basis

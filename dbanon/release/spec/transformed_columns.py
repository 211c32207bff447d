"""Write SQL of transformed columns: pseudonyms, masks and shifted dates."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.column_roles import Roles
from dbanon.policy.transforms import settings
from dbanon.policy.transforms.settings import Mask, Pseudonym, Shift, Transform
from dbanon.runtime import secret_keys as keys
from dbanon.source.catalog import Source
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, text

SHIFTED_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
"""Types of dates that are shifted."""


class KeyFileWarning(UserWarning):
    """Users other than the owner of a key's file may read or write it."""


@dataclass(frozen=True)
class TransformedColumn:
    """A column that is published as a pseudonym, a mask or a shifted date.

    Attributes:
        role: The role in the policy: pseudonym, mask or shift.
        transform: The settings of the transformation.
        type: The published type.
        udf_settings: The settings that the UDF gets. They refer to the key and do not contain it.
        key_id: The id of the key; None for a mask.
    """

    role: str
    transform: Transform
    type: str
    udf_settings: Mapping[str, object]
    key_id: str | None = None

    @property
    def scope(self) -> str | None:
        """The scope within which equal values have equal pseudonyms (or persons equal shifts); None for a mask."""
        return None if self.key_id is None else str(self.udf_settings["scope"])

    @property
    def udf_settings_sql(self) -> Sql:
        """The settings that the UDF gets, as a SQL text literal that contains JSON."""
        return text(json.dumps(self.udf_settings, sort_keys=True))


def resolve_transformed_columns(
    function: str, source: Source, policy_rows: tuple[DeclaredColumn, ...], roles: Roles, scope: str
) -> dict[str, TransformedColumn]:
    """Check and return the transformed columns (pseudonyms, masks, shifted dates) of one call, by name.

    If there are several pseudonyms, each but the person's has a scope of its own within `scope`, so equal values of two
    columns have different pseudonyms. Keys are read here, so that errors of keys are raised before any data is read. A
    KeyFileWarning is issued if other users have permissions for the file of a key.

    Args:
        function: The called function, for messages.
        source: The source.
        policy_rows: The policy of the source.
        roles: The roles of the columns.
        scope: The text of the scope within which equal values have equal pseudonyms, unless the policy names another.

    Raises:
        InvalidTransformSettingError: A setting is invalid.
        UnreadableKeyReferenceError, PseudonymKeyMissingError, WeakPseudonymKeyError: A key is unusable.
        CannotTransformColumnError: The type cannot be transformed, or dates are shifted without a person.
        PseudonymFormatMismatchError: Two columns share key and scope, but not the format.
    """
    settings_by_column = {fold_case(row.column): dict(row.settings.settings) for row in policy_rows}
    has_several_pseudonyms = sum(row.role.lower() == "pseudonym" for row in policy_rows) > 1
    transformed = {}
    for name, role in roles.transformed.items():
        column_text, type_ = f"{source.shown}.{name}", source.columns[name]
        transform = settings.parse_transform(column_text, role, settings_by_column.get(fold_case(name), {}))
        if role == "shift" and type_ not in SHIFTED_TYPES:
            raise errors.CannotTransformColumnError(
                function, column_text, role, f"it has the type {type_}", f"one of {', '.join(SHIFTED_TYPES)}"
            )
        if role == "shift" and roles.person is None:
            accepted = "a table whose policy identifies persons (role person or pseudonym)"
            raise errors.CannotTransformColumnError(
                function, column_text, role, "all dates of a person are shifted by the same number of days", accepted
            )
        if role != "shift" and person_value(Sql("NULL"), type_) is None:
            accepted = "numbers, dates, times, text, booleans, enums or UUIDs"
            raise errors.CannotTransformColumnError(function, column_text, role, f"it has the type {type_}", accepted)
        key = keys.find_key(transform.key) if isinstance(transform, Pseudonym | Shift) else None
        if key is not None:
            _warn_of_shared_key_file(key.reference)
        transformed[name] = TransformedColumn(
            role,
            transform,
            type_ if role == "shift" else "VARCHAR",
            _udf_settings(
                transform,
                scope
                if not has_several_pseudonyms or role == "shift" or name == roles.person
                else column_scope(scope, name),
            ),
            None if key is None else key.id,
        )
    _check_formats(function, source, transformed)
    return transformed


def column_scope(scope: str, column: str) -> str:
    """Return the text of a pseudonym column's own scope within that of the release, `scope`.

    It is for columns that are neither the only pseudonym of the table nor that of the person: equal values of two
    columns then have different pseudonyms.
    """
    return f"column {json.dumps([scope, column.lower()])}"


def _check_formats(function: str, source: Source, transformed: Mapping[str, TransformedColumn]) -> None:
    """Check that pseudonym columns with the same key and scope have the same format (encoding, length and prefix).

    Otherwise readers who know the formats could link values that the gate considers as different.

    Raises:
        PseudonymFormatMismatchError: The formats differ.
    """
    first_by_scope: dict[tuple[str | None, str | None], tuple[str, object]] = {}
    for name, column in transformed.items():
        if isinstance(column.transform, Pseudonym):
            first_name, form = first_by_scope.setdefault((column.key_id, column.scope), (name, column.transform.format))
            if form != column.transform.format:
                raise errors.PseudonymFormatMismatchError(function, [first_name, name], source.shown)


def _udf_settings(transform: Transform, scope: str) -> dict[str, object]:
    """Return the settings that the UDF of a pseudonym or a shift gets; {} for a mask, which needs no UDF.

    They have the reference of the key, never the key. `scope` applies unless the policy sets one.
    """
    if isinstance(transform, Mask):
        return {}
    key_settings: dict[str, object] = {
        "key": transform.key,
        "scope": scope if transform.scope is None else f"scope {transform.scope}",
    }
    if isinstance(transform, Shift):
        return key_settings | {"days": transform.days}
    return key_settings | {
        "format": transform.format.encoding,
        "length": transform.format.length,
        "prefix": transform.format.prefix,
    }


def _warn_of_shared_key_file(reference: str) -> None:
    """Warn (KeyFileWarning) if users other than its owner have permissions for the file that a reference names."""
    mode = keys.shared_file_mode(reference)
    if mode is not None:
        message = f"{reference} has the mode {mode}: users other than its owner can read the key. Hint: chmod 600."
        warnings.warn(message, KeyFileWarning, stacklevel=2)


def transformed_value_sql(
    function: str, column_text: str, column: TransformedColumn, value: Sql, type_: str, person: Sql | None
) -> Sql:
    """Return SQL of the published value of a transformed column: pseudonym, masked text or shifted date.

    The SQL raises an error if a shifted date is beyond its type. A shifted date is NULL if the person is NULL; infinite
    dates of known persons are unchanged. A text that is not longer than the shown characters is masked completely.

    Args:
        function: The called function, for messages.
        column_text: The column as messages name it.
        column: The transformed column.
        value: SQL of its source value.
        type_: The type of that value.
        person: SQL of the person of the record, which determines the shift of dates.
    """
    transform = column.transform
    if isinstance(transform, Pseudonym):
        return Sql(f"dbanon_pseudonym({canonical_value_text(value, type_)}, {column.udf_settings_sql})")
    if isinstance(transform, Mask):
        value_text, character = canonical_value_text(value, type_), text(transform.character)
        length, n_shown = f"length_grapheme({value_text})", transform.first + transform.last
        hidden_text = f"repeat({character}, {length} - {n_shown})"
        first_text = f"left_grapheme({value_text}, {transform.first})"
        last_text = f"right_grapheme({value_text}, {transform.last})"
        masked_text = f"{first_text} || {hidden_text} || {last_text}"
        return Sql(f"(CASE WHEN {length} <= {n_shown} THEN repeat({character}, {length}) ELSE {masked_text} END)")
    days = f"dbanon_shift(CAST({person} AS VARCHAR), {column.udf_settings_sql})"
    shifted_value = {
        "DATE": f"{value} + {days}",
        "TIMESTAMP": f"{value} + to_days({days})",
        "TIMESTAMP WITH TIME ZONE": f"({value} AT TIME ZONE 'UTC' + to_days({days})) AT TIME ZONE 'UTC'",
    }[type_]
    error_text = error_sql(errors.DateShiftOutOfRangeError(function, column_text, type_, transform.days))
    return Sql(
        f"(CASE WHEN isfinite({value}) THEN coalesce(TRY({shifted_value}), "
        f"CASE WHEN {days} IS NOT NULL THEN error({error_text}) END) "
        f"WHEN {days} IS NOT NULL THEN {value} END)"
    )


def canonical_value_text(value: Sql, type_: str) -> Sql:
    """Return SQL of the text of a value of a type; equal values have equal texts.

    The integer 1 and the text '1' have equal texts, too. Instants are written as microseconds, -0.0 as 0.0. The type
    must be one that can identify persons (see `person_value`).
    """
    return Sql(f"CAST({person_value(value, type_)} AS VARCHAR)")


def transform_descriptions(transformed: Mapping[str, TransformedColumn]) -> dict[str, str]:
    """Return for each transformed column what its published values depend on, as text for the ledger.

    That is key id and scope of a pseudonym; these and the number of days of a shift; first, last and character of a
    mask.
    """
    return {name: _describe_transform(column) for name, column in transformed.items()}


def _describe_transform(column: TransformedColumn) -> str:
    """Return what the published values of a column depend on, as text: key id, scope and days, or the mask's settings.

    Days are missing for a pseudonym.
    """
    if isinstance(column.transform, Mask):
        return f"first {column.transform.first}, last {column.transform.last}, character {column.transform.character}"
    key_text = f"key {column.key_id}, {column.scope}"
    return f"{key_text}, {column.transform.days} days" if isinstance(column.transform, Shift) else key_text

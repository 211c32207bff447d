"""Name the columns of a release, for the plan, SQLAlchemy and the certificate.

The release gate does not use this module; it derives the names itself (`dbanon.gate.rules`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbanon.sqltext.names import fold_case


@dataclass(frozen=True)
class PublishedPart:
    """One published column of a quasi-identifier.

    Attributes:
        name: Its name.
        kind: `value` (a text, or a number with noise), `low` or `high` (a bound of an interval), or `pair` (both).
    """

    name: str
    kind: str = "value"


@dataclass(frozen=True)
class PublishedSchema:
    """The names of all columns that a call publishes.

    Attributes:
        quasi: The published columns of each quasi-identifier.
        row_columns: The columns of the released rows without the class, in the order of the source.
        class_id: The column of the class.
        size, persons, loss, suppressed: Columns that only NAME_classes has.
        copies, place, copy: Columns that rows have only within the statement.
    """

    quasi: Mapping[str, tuple[PublishedPart, ...]]
    row_columns: tuple[str, ...]
    class_id: str
    size: str
    persons: str
    loss: str
    suppressed: str
    copies: str
    place: str
    copy: str


def published_schema(
    columns: Iterable[str], quasi: Mapping[str, bool], unchanged: Sequence[str], intervals: str
) -> PublishedSchema:
    """Choose the names of all published columns; names of added columns get underscores until they are unused.

    Args:
        columns: The columns of the source, in order.
        quasi: Whether each quasi-identifier is a number.
        unchanged: The columns that are published without generalization.
        intervals: The format of intervals: text, bounds or struct.
    """
    parts = _quasi_parts(quasi, unchanged, intervals)
    rows = [
        name
        for column in columns
        for name in ([part.name for part in parts[column]] if column in parts else [column] * (column in unchanged))
    ]
    class_id = unused_name("class_id", rows)
    class_column_names = [*(part.name for column_parts in parts.values() for part in column_parts), *unchanged]
    class_names = (unused_name(name, class_column_names) for name in ("size", "persons", "loss", "suppressed"))
    row_names = (unused_name(name, [class_id, *rows]) for name in ("copies", "place", "copy"))
    return PublishedSchema(parts, tuple(rows), class_id, *class_names, *row_names)


def _quasi_parts(
    quasi: Mapping[str, bool], unchanged: Sequence[str], intervals: str
) -> dict[str, tuple[PublishedPart, ...]]:
    """Return the published columns of each quasi-identifier: two bounds (NAME_min, NAME_max) or one.

    Names of bounds get underscores if another published column has them. The arguments are those of `published_schema`.
    """
    names_with_bounds = {name for name, is_number in quasi.items() if is_number and intervals == "bounds"}
    used_names = {name for name in (*quasi, *unchanged) if name not in names_with_bounds}
    parts: dict[str, tuple[PublishedPart, ...]] = {}
    for name, is_number in quasi.items():
        if name in names_with_bounds:
            parts[name] = tuple(
                PublishedPart(unused_name(f"{name}_{suffix}", used_names), part_kind)
                for suffix, part_kind in (("min", "low"), ("max", "high"))
            )
        else:
            parts[name] = (PublishedPart(name, "pair" if is_number and intervals == "struct" else "value"),)
        used_names.update(part.name for part in parts[name])
    return parts


def class_column_kinds(
    n_quasi: int, n_sensitive: int, *, with_persons: bool, with_suppressed: bool, with_loss: bool = True
) -> list[str]:
    """Return the kind of each column of NAME_classes, in the order of the columns.

    The kinds are class_id, size, persons, quasi, loss, suppressed and sensitive; those that are not requested are
    missing.

    Args:
        n_quasi: The number of columns of quasi-identifiers.
        n_sensitive: The number of columns of sensitive values.
        with_persons: Persons are counted.
        with_suppressed: Records may be suppressed.
        with_loss: Losses are computed.
    """
    return [
        "class_id",
        "size",
        *["persons"] * with_persons,
        *["quasi"] * n_quasi,
        *["loss"] * with_loss,
        *["suppressed"] * with_suppressed,
        *["sensitive"] * n_sensitive,
    ]


def unused_name(name: str, used_names: Iterable[str]) -> str:
    """Return a name with underscores appended until it differs from all used names, compared without case."""
    lower_names = {fold_case(t) for t in used_names}
    while fold_case(name) in lower_names:
        name += "_"
    return name

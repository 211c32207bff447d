"""The columns of what is published, named in one place: the plan, SQLAlchemy and the certificate read them here.

The release gate does not: it names them itself (`dbanon.gate.rules`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedPart:
    """One published column of a quasi-identifier.

    `part` is what it holds: a `value` (a text, or a number that was drawn), the `low` or the `high` end of an interval,
    or the `pair` of both.
    """

    name: str
    kind: str = "value"


@dataclass(frozen=True)
class PublishedSchema:
    """Names of all that a call publishes: of the columns of the source those that are published, in its order.

    `size`, `persons`, `loss` and `suppressed` are columns of NAME_classes alone; `copies`, `place` and `copy` are with
    the rows until they leave.
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
    """Return the names.

    `columns` are those of the source in its order; `quasi` says which quasi-identifiers are numbers, `unchanged` are
    the columns that are published as they are, `intervals` is the form of numbers.
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
    """Return the published columns of each quasi-identifier.

    Columns that keep their name have it; the names of typed bounds give way to them.
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
    """Return the kinds of the columns of NAME_classes, in their order.

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
    """Return the name, with underscores until it differs from those that are taken."""
    lower_names = {t.lower() for t in used_names}
    while name.lower() in lower_names:
        name += "_"
    return name

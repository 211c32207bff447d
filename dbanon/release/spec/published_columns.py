"""The columns of what is published, named in one place: the plan, SQLAlchemy and the certificate read them here.

The release gate does not: it names them itself (gate_rules.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One published column of a quasi-identifier.

    `part` is what it holds: a `value` (a text, or a number that was drawn), the `low` or the `high` end of an interval,
    or the `pair` of both.
    """

    name: str
    part: str = "value"


@dataclass(frozen=True)
class PublishedSchema:
    """Names of all that a call publishes: of the columns of the source those that are published, in its order.

    `size`, `persons`, `loss` and `suppressed` are columns of NAME_classes alone; `copies`, `place` and `copy` are with
    the rows until they leave.
    """

    quasi: Mapping[str, tuple[Part, ...]]
    rows: tuple[str, ...]
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
    parts = _quasi(quasi, unchanged, intervals)
    rows = [
        name
        for column in columns
        for name in ([part.name for part in parts[column]] if column in parts else [column] * (column in unchanged))
    ]
    class_id = free("class_id", rows)
    own = [*(part.name for of in parts.values() for part in of), *unchanged]
    of_classes = (free(name, own) for name in ("size", "persons", "loss", "suppressed"))
    of_rows = (free(name, [class_id, *rows]) for name in ("copies", "place", "copy"))
    return PublishedSchema(parts, tuple(rows), class_id, *of_classes, *of_rows)


def _quasi(quasi: Mapping[str, bool], unchanged: Sequence[str], intervals: str) -> dict[str, tuple[Part, ...]]:
    """Return the published columns of each quasi-identifier.

    Columns that keep their name have it; the names of typed bounds give way to them.
    """
    bounded = {name for name, is_number in quasi.items() if is_number and intervals == "bounds"}
    taken = {name for name in (*quasi, *unchanged) if name not in bounded}
    parts: dict[str, tuple[Part, ...]] = {}
    for name, is_number in quasi.items():
        if name in bounded:
            parts[name] = tuple(Part(free(f"{name}_{end}", taken), of) for end, of in (("min", "low"), ("max", "high")))
        else:
            parts[name] = (Part(name, "pair" if is_number and intervals == "struct" else "value"),)
        taken.update(part.name for part in parts[name])
    return parts


def classes_order(quasi: int, sensitive: int, *, persons: bool, suppressed: bool, loss: bool = True) -> list[str]:
    """What the columns of NAME_classes are, in their order; `quasi` and `sensitive`: how many there are of these."""
    return [
        "class_id",
        "size",
        *["persons"] * persons,
        *["quasi"] * quasi,
        *["loss"] * loss,
        *["suppressed"] * suppressed,
        *["sensitive"] * sensitive,
    ]


def free(name: str, taken: Iterable[str]) -> str:
    """Return the name, with underscores until it differs from those that are taken."""
    lowered = {t.lower() for t in taken}
    while name.lower() in lowered:
        name += "_"
    return name

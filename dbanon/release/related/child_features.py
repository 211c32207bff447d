"""What the rows of other tables add to a person for the clustering.

People are clustered by what they are, by how many rows they have, by the least and the greatest value of each number or
date in them, and by the category that most of them have. None of this is published or judged: it decides who is near.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dbanon.policy.attribute import Attribute
from dbanon.policy.column_roles import Quasi
from dbanon.release.plan import template_columns
from dbanon.release.plan.number_column import number_column
from dbanon.release.plan.template_columns import QuasiColumn, TreeColumn
from dbanon.release.related.related_tables import Related
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.stored_policy import Settings
from dbanon.source.type_families import FAMILIES
from dbanon.sqltext.quote import Sql

_OF_SIZE = 4.0
"""The weight of the number of rows: where people of a class have different numbers, rows are left out whole. Of 1,462
people with 3,673 care plans, `best` with k = 10 published 67% of the plans by weight 1, 86% by this one."""

_NEVER = {problem: Sql("NULL") for problem in ("nulls", "wild", "no_values")}
"""What is said of a column of whole numbers without NULL."""


@dataclass(frozen=True)
class Feature:
    """One attribute of people that is made of their rows in a table, `i` among all; `of` is the number of the
    quasi-identifier there, whose least or greatest value it is (`aggregate`), or most frequent one; None: the number of
    rows."""

    i: int
    of: int | None
    aggregate: Sql | None
    attribute: Attribute
    column: QuasiColumn

    @property
    def is_size(self) -> bool:
        return self.of is None

    @property
    def is_usual(self) -> bool:
        return self.of is not None and self.aggregate is None


def features(tables: Sequence[Related], first: int) -> list[list[Feature]]:
    """Return the features of each table, of which that of people has none; the first of all has the number `first`."""
    found: list[list[Feature]] = [[]]
    for table in tables[1:]:
        found.append(list(_features(table.publication, first)))
        first += len(found[-1])
    return found


def _features(of: ReleaseSpec, first: int) -> Iterator[Feature]:
    whole = Quasi(f"{of.source.shown}: rows", "INTEGER", Settings(weight=_OF_SIZE))
    kinds: list[tuple[int | None, str, str | None, Attribute]] = [(None, "rows", None, Attribute(whole, "integer"))]
    for i, attribute in enumerate(of.attributes):
        if attribute.is_number:
            kinds += [(i, "least", "min", attribute), (i, "greatest", "max", attribute)]
        else:
            kinds.append((i, "usual", None, attribute))
    for place, (at, word, aggregate, attribute) in enumerate(kinds, first):
        name = f"{of.source.shown}: {word} {'' if at is None else attribute.quasi.column}"
        column = _size(attribute, place) if at is None else template_columns.quasi(of, place, attribute)
        settings = replace(attribute.quasi.settings, weight=attribute.quasi.settings.weight / (2 if aggregate else 1))
        known = replace(attribute, quasi=Quasi(name, attribute.quasi.type, settings))
        yield Feature(
            place, at, None if aggregate is None else Sql(aggregate), known, as_read(column, f"{place}. {name}")
        )


def _size(attribute: Attribute, i: int) -> QuasiColumn:
    """Return the column of the number of rows, which always has a value."""
    return number_column(attribute, FAMILIES["integer"], i, Sql(f"q{i}"), _NEVER, drawn=False)


def as_read(column: QuasiColumn, plain: str) -> QuasiColumn:
    """Return a column whose values have been read already, as q with its number; `plain` is unlike any other's."""
    value = Sql(f"q{column.i}")
    if isinstance(column, TreeColumn):
        return replace(column, plain=plain, read=value)
    return replace(column, plain=plain, value=value)

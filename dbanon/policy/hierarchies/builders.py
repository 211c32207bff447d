"""Build hierarchies from the values of a column; each builder has a template in sql/policy/hierarchies/."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.source import missing_codes, stored_policy
from dbanon.source.column_types import CALENDAR_FAMILIES, INTEGERS, NUMERIC_FAMILIES, family, is_zoned, label_text
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.quote import Sql, identifier
from dbanon.sqltext.templates import fill
from dbanon.table_functions.parameter_types import Choices, Integers
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction

DATE_LEVELS = ("day", "month", "quarter", "year", "decade", "century")


@dataclass(frozen=True)
class Builder:
    """A table function hierarchy_NAME that builds a hierarchy from the values of a column, with the template NAME.sql.

    Of texts, hierarchy_dates has the template partial_dates.sql.

    Attributes:
        name: NAME, such as "prefix".
        doc: The description of the function.
        example: The example of the function.
        parameter: The parameter that defines the levels; None if there is none.
        levels: Returns the value of that parameter in a call, as the template needs it.
        families: Families of column types that it accepts; empty: all types.
        accepts: The accepted types in words, for messages.
    """

    name: str
    doc: str
    example: Example
    parameter: Parameter | None = None
    levels: Callable[[Call], object] | None = None
    families: tuple[str, ...] = ()
    accepts: str = ""


def builder_sql(call: Call, *, builder: Builder) -> Sql:
    """Return the SQL of a call of a builder: a hierarchy of the column's values as rows for dbanon.hierarchy.

    Codes for missing values are not in it.

    Raises:
        UnknownTableError, UnknownColumnError: A name does not exist.
        InvalidArgumentError: The builder does not accept the type of the column or the levels.
    """
    source = call.source()
    column = call.column(source)
    type_ = source.columns[column]
    is_text_of_dates = builder.name == "dates" and type_ == "VARCHAR"
    unaccepted = errors.InvalidArgumentError(call.function.name, "col", builder.accepts, f"{column} {type_}")
    if builder.families and family(type_)[0] not in builder.families and not is_text_of_dates:
        raise unaccepted
    levels = {builder.parameter.name: builder.levels(call)} if builder.parameter and builder.levels else {}
    template = "partial_dates" if is_text_of_dates else builder.name
    declared = stored_policy.policy_of(source, call.cursor).declared
    paths = fill(
        f"policy/hierarchies/{template}.sql",
        source=missing_codes.without_codes(source, declared, call.holds).rows,
        column=identifier(column),
        label=label_text(identifier(column), type_),
        integer=type_ in INTEGERS,
        date=type_ == "DATE",  # the range of TIMESTAMP is smaller than that of DATE
        zoned=is_zoned(type_),
        no_dates=error_sql(unaccepted),
        **levels,
    )
    return hierarchy_sql.named_rows(call.text("name"), Sql(paths))


def _kept_lengths(call: Call) -> list[Sql] | None:
    """Return the lengths of prefixes in the call's parameter `keep`, as SQL integers; None (all) if not given."""
    lengths = call.options.sequence("keep")
    return [Sql(str(n)) for n in lengths] if lengths else None


def _interval_widths(call: Call) -> list[Sql]:
    """Return the widths of intervals that the call's parameter `widths` lists, as SQL numbers; [] if it is not given.

    Raises:
        InvalidArgumentError: A width is not a multiple of the one before.
    """
    widths = call.options.sequence("widths") or ()
    for width, next_width in pairwise(widths):
        if next_width % width:
            raise errors.InvalidArgumentError(
                call.function.name, "widths", "widths of which each is a multiple of the one before", json.dumps(widths)
            )
    return [Sql(str(w)) for w in widths]


_BUILDERS = (
    Builder(
        "flat",
        "Returns the rows of a flat hierarchy: the values of a column directly below *.",
        Example("SELECT * FROM hierarchy_flat('occupation', 'patients', 'occupation');"),
    ),
    Builder(
        "prefix",
        "Returns the rows of a hierarchy that masks text from the right: 02138, 0213*, 021**, *. Values with an "
        "equal beginning have the same label, whatever their lengths: 02138 and 02138-1234 are both 021**.",
        Example("INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zip3', 'patients', 'zip', keep = [3]);"),
        Parameter(
            "keep",
            Integers(1, descending=True),
            "Number of characters kept on each level, such as [4, 3]; default: one less on every level.",
        ),
        _kept_lengths,
    ),
    Builder(
        "intervals",
        "Returns the rows of a hierarchy of nested numeric intervals that begin at multiples of their width.",
        Example(
            "INSERT INTO dbanon.hierarchy FROM hierarchy_intervals('age', 'ages', 'age', widths = [5, 10, 20]);",
            ("CREATE VIEW ages AS SELECT datesub('year', birth_date, DATE '2025-01-01') AS age FROM patients;",),
        ),
        Parameter(
            "widths",
            Integers(1, descending=False, high=2**63 - 1),
            "Widths of the intervals on each level, each a multiple of the one before.",
            required=True,
            example="widths = [5, 10, 20]",
        ),
        _interval_widths,
        families=NUMERIC_FAMILIES,
        accepts="a column of numbers",
    ),
    Builder(
        "dates",
        "Returns the rows of a calendar hierarchy of dates, or of texts such as 1987, 1987-05 and 1987-05-03.",
        Example(
            "INSERT INTO dbanon.hierarchy\n"
            "FROM hierarchy_dates('birth_date', 'patients', 'birth_date', levels = ['year', 'decade']);"
        ),
        Parameter(
            "levels",
            Choices(DATE_LEVELS),
            "Calendar levels from fine to coarse.",
            ("month", "quarter", "year", "decade"),
        ),
        lambda call: list(call.options.sequence("levels") or ()),
        families=CALENDAR_FAMILIES,
        accepts="a column of dates, timestamps or texts that are dates, such as 1987-05",
    ),
)

FUNCTIONS = tuple(
    TableFunction(
        f"hierarchy_{builder.name}",
        ("name", "tbl", "col"),
        (builder.parameter,) if builder.parameter else (),
        builder.doc,
        handler=partial(builder_sql, builder=builder),
        example=builder.example,
    )
    for builder in _BUILDERS
)

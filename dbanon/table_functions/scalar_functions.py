"""The scalar functions that read published values, in WHERE, in averages, in generated columns: plain DuckDB macros."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.sqltext.qualify_builtins import bound
from dbanon.sqltext.quote import Sql, identifier
from dbanon.sqltext.templates import fill, later, message


@dataclass(frozen=True)
class Form:
    """One way to call a function: its arguments, and the file in sql/table_functions/ that has its body."""

    arguments: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class Scalar:
    """One scalar function."""

    name: str
    forms: tuple[Form, ...]
    returns: str
    doc: str
    example: Example


def _of(name: str, returns: str, doc: str, example: Example) -> Scalar:
    return Scalar(name, (Form(("published",), name),), returns, doc, example)


FUNCTIONS = (
    _of(
        "lower_of",
        "DOUBLE",
        "Lower end of a published number: 25 of [25, 29]; NULL where it is open, as in <=18.",
        Example("SELECT lower_of('[25, 29]') AS low, lower_of('<=18') AS open;"),
    ),
    _of(
        "upper_of",
        "DOUBLE",
        "Upper end of a published number: 29 of [25, 29]; NULL where it is open, as in >=90.",
        Example("SELECT upper_of('[25, 29]') AS high, upper_of('>=90') AS open;"),
    ),
    _of(
        "midpoint",
        "DOUBLE",
        "Middle of a published number: 27 of [25, 29]; NULL where an end is open.",
        Example("SELECT midpoint('[25, 29]') AS middle;"),
    ),
    _of(
        "lower_date_of",
        "TIMESTAMP",
        "The same of a published date, timestamp or time (of 1970-01-01): lower end.",
        Example("SELECT birth_date, lower_date_of(birth_date) AS earliest FROM safe LIMIT 5;", SAFE),
    ),
    _of(
        "upper_date_of",
        "TIMESTAMP",
        "Upper end of a published date, timestamp or time; of days, the last one.",
        Example("SELECT birth_date, upper_date_of(birth_date) AS latest FROM safe LIMIT 5;", SAFE),
    ),
    _of(
        "midpoint_date",
        "TIMESTAMP",
        "Middle of a published date, timestamp or time.",
        Example("SELECT disease, avg(midpoint_date(birth_date)) AS born FROM safe GROUP BY ALL;", SAFE),
    ),
    Scalar(
        "share_within",
        (Form(("published", "low", "high"), "share_within"),),
        "DOUBLE",
        "Share of a published interval that lies in [low, high], from 0 to 1, all its values being equally likely. "
        "Whole numbers and days are counted; an open end is its bound.",
        Example(
            "SELECT sum(share_within(birth_date, DATE '1950-01-01', DATE '1959-12-31')) AS expected FROM safe;", SAFE
        ),
    ),
    Scalar(
        "covers",
        (Form(("published", "value"), "covers"), Form(("published", "value", "hierarchy"), "covers_in")),
        "BOOLEAN",
        "Whether a published value can stand for a value: equal, *, an interval with it, a mask such as 021**, or with "
        "a stored hierarchy's name a node above it.",
        Example("SELECT count(*) AS possible FROM safe WHERE covers(zip, '02105', 'zip5');", SAFE),
    ),
)


def macros(place: str = "TEMP", without: Container[str] = ()) -> Iterator[Sql]:
    """Yield the statements that create the functions on a connection, or in its database where `place` is empty.

    Forms with an argument that is one of `without` are left out.
    """
    for function in FUNCTIONS:
        forms = ", ".join(
            f"({', '.join(form.arguments)}) AS ({bound(_body(function, form))})"
            for form in function.forms
            if not any(argument in without for argument in form.arguments)
        )
        yield Sql(f"CREATE OR REPLACE {place} MACRO {identifier(function.name)}{forms}")


def _body(function: Scalar, form: Form) -> str:
    unknown = message(errors.HierarchyNotStoredError("covers", later("CAST(hierarchy AS VARCHAR)")))
    body = fill(f"table_functions/{form.body}.sql", unknown=unknown)
    if function.returns == "BOOLEAN":
        return body
    # Where DuckDB binds a macro that is made, a test of a parameter comes to nothing, and binding ends there: that is
    # most of the cost of making it. `least` passes over NULL.
    return f"least(CAST(nullif(published IS NULL, published IS NULL) AS {function.returns}), {body})"

"""Scalar functions that parse published values in queries, as DuckDB macros."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.errors.example import SAFE, Example
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier
from dbanon.sqltext.templates import fill


@dataclass(frozen=True)
class Overload:
    """One signature of a scalar function: its arguments, and `body`, the name of the file in sql/table_functions/."""

    arguments: tuple[str, ...]
    body: str


@dataclass(frozen=True)
class ScalarFunction:
    """One scalar function: its name, signatures (`forms`), SQL return type, documentation and example."""

    name: str
    overloads: tuple[Overload, ...]
    returns: str
    doc: str
    example: Example


def _published_value_function(name: str, returns: str, doc: str, example: Example) -> ScalarFunction:
    """Declare a scalar function of one argument, `published`, whose body is in the SQL file of its own name."""
    return ScalarFunction(name, (Overload(("published",), name),), returns, doc, example)


FUNCTIONS = (
    _published_value_function(
        "lower_bound",
        "DOUBLE",
        "Returns the lower end of a published number: 25 for [25, 29]; NULL if it is open, as in <=18. The forms of "
        "other tools are accepted as well: [20, 30[, 20-29, 65+, <18.",
        Example("SELECT lower_bound('[25, 29]') AS low, lower_bound('<=18') AS open;"),
    ),
    _published_value_function(
        "upper_bound",
        "DOUBLE",
        "Returns the upper end of a published number: 29 for [25, 29]; NULL if it is open, as in >=90. The forms of "
        "other tools are accepted as well: [20, 30[, 20-29, 65+, <18.",
        Example("SELECT upper_bound('[25, 29]') AS high, upper_bound('>=90') AS open;"),
    ),
    _published_value_function(
        "midpoint",
        "DOUBLE",
        "Returns the middle of a published number: 27 for [25, 29]; NULL if an end is open.",
        Example("SELECT midpoint('[25, 29]') AS middle;"),
    ),
    _published_value_function(
        "lower_date",
        "TIMESTAMP",
        "Returns the lower end of a published date, timestamp or time (a time is on 1970-01-01).",
        Example("SELECT birth_date, lower_date(birth_date) AS earliest FROM safe LIMIT 5;", SAFE),
    ),
    _published_value_function(
        "upper_date",
        "TIMESTAMP",
        "Returns the upper end of a published date, timestamp or time; for days, the last day.",
        Example("SELECT birth_date, upper_date(birth_date) AS latest FROM safe LIMIT 5;", SAFE),
    ),
    _published_value_function(
        "midpoint_date",
        "TIMESTAMP",
        "Returns the middle of a published date, timestamp or time.",
        Example("SELECT disease, avg(midpoint_date(birth_date)) AS born FROM safe GROUP BY ALL;", SAFE),
    ),
    ScalarFunction(
        "share_within",
        (Overload(("published", "low", "high"), "share_within"),),
        "DOUBLE",
        "Returns the share of a published interval that is in [low, high], from 0 to 1, if all of its values are "
        "equally likely. Whole numbers and days are counted; an open end is replaced by its bound.",
        Example(
            "SELECT sum(share_within(birth_date, DATE '1950-01-01', DATE '1959-12-31')) AS expected FROM safe;", SAFE
        ),
    ),
    ScalarFunction(
        "covers",
        (Overload(("published", "value"), "covers"), Overload(("published", "value", "hierarchy"), "covers_in")),
        "BOOLEAN",
        "Returns whether a published value covers a value: it is equal, *, an interval that contains the value, a "
        "mask such as 021** or, if you name a stored hierarchy, a node above the value.",
        Example("SELECT count(*) AS possible FROM safe WHERE covers(zip, '02105', 'zip5');", SAFE),
    ),
)


def macro_statements(scope: str = "TEMP", excluded_arguments: Container[str] = ()) -> Iterator[Sql]:
    """Yield the CREATE OR REPLACE MACRO statements of all scalar functions.

    Earlier names of renamed functions become macros that raise an error with the new name.

    Args:
        scope: TEMP for macros of the connection; empty for macros in its current database.
        excluded_arguments: Overloads with an argument of one of these names are not created.
    """
    for function in FUNCTIONS:
        overloads = ", ".join(
            f"({', '.join(overload.arguments)}) AS ({qualify_builtins(_overload_body(function, overload))})"
            for overload in function.overloads
            if not any(argument in excluded_arguments for argument in overload.arguments)
        )
        yield Sql(f"CREATE OR REPLACE {scope} MACRO {identifier(function.name)}{overloads}")
    current_names = {function.name for function in FUNCTIONS}
    for earlier_name, name in renamed_names.FUNCTIONS.items():
        if name in current_names:
            message = error_sql(errors.RenamedFunctionError(earlier_name, name))
            body = qualify_builtins(f"error({message})")
            yield Sql(f"CREATE OR REPLACE {scope} MACRO {identifier(earlier_name)}(published) AS ({body})")


def _overload_body(function: ScalarFunction, overload: Overload) -> str:
    """Return the SQL expression that computes an overload from its SQL file.

    Unless the function returns BOOLEAN, the expression is inside a call of `least` whose type is the return type.
    """
    unknown = error_sql(errors.HierarchyNotStoredError("covers", sql_placeholder("CAST(hierarchy AS VARCHAR)")))
    body = fill(f"table_functions/{overload.body}.sql", unknown=unknown)
    if function.returns == "BOOLEAN":
        return body
    # Where DuckDB binds a macro that is made, a test of a parameter comes to nothing, and binding ends there: that is
    # most of the cost of making it. `least` passes over NULL.
    return f"least(CAST(nullif(published IS NULL, published IS NULL) AS {function.returns}), {body})"

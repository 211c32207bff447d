"""A call on a DataFrame: where its policy and hierarchies come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from dbanon import errors
from dbanon.client import codes
from dbanon.client.connection import Connection, connect
from dbanon.client.frame import given_hierarchies
from dbanon.cluster.common_parameters import COMMON
from dbanon.functions import parameters
from dbanon.functions.registry import check_algorithm, table_functions
from dbanon.functions.table_function import ENDINGS
from dbanon.policy import files
from dbanon.policy.declare import declare, load_hierarchy
from dbanon.release import timed_search
from dbanon.source import catalog, schema, stored_policy
from dbanon.source.catalog import SCHEMA
from dbanon.spark.asked import Asked, spelled
from dbanon.sqltext.quote import Sql, identifier, text

_THERE = "policy of a file"
_EMPTY = "columns of a DataFrame"


def asked(
    df: DataFrame,
    function: str,
    name: str,
    policy: Any,
    hierarchies: Mapping[str, Any] | None,
    given: Mapping[str, Any],
) -> tuple[Asked, str]:
    """The call of a function on a DataFrame, as its NAME, and its kind: release, classes or metrics. `hierarchies` are
    by the name that the policy declares, else by column.

    Raises NotSpark, NotOnSpark, UnknownAlgorithm, UnknownParameter, NotPolicy, and what `declare` and `load_hierarchy`
    raise.
    """
    if not type(df).__module__.startswith("pyspark.sql.") or "connect" in type(df).__module__:
        raise errors.NotSpark("anonymize", f"a {type(df).__module__}.{type(df).__qualname__}")
    called, kind = _function(function)
    known = [p.name for p in table_functions()[called].parameters]
    for parameter in given:
        if parameter not in known:
            raise errors.UnknownParameter("anonymize", parameter, known)
    if timed_search.seconds("anonymize", given) is not None:
        raise errors.NotOnSpark(called, f"improve = {given['improve']!r}, which ends when time is up,")
    named = json.loads(json.dumps(dict(given), default=str))
    columns = _columns(df)
    with connect() as con:
        schema.create(con.raw)
        con.raw.register(_EMPTY, columns)
        con.raw.execute(f"CREATE TABLE {identifier(name)} AS FROM {identifier(_EMPTY)}")
        declared = _declare(con, name, policy)
        for hierarchy in declared & {*(hierarchies or ())}:
            load_hierarchy(con.raw, hierarchy, (hierarchies or {})[hierarchy])
        by_column = {column: of for column, of in (hierarchies or {}).items() if column not in declared}
        if by_column:
            named["hierarchies"] = given_hierarchies(con, by_column)
        rules, nodes = (con.raw.sql(f"FROM {SCHEMA}.{t}").to_arrow_table() for t in ("policy", "hierarchy"))
    zone = str(df.sparkSession.conf.get("spark.sql.session.timeZone"))
    return Asked(called, name, columns, rules, nodes, named, zone), kind


def checked_cell(function: str, cell: object) -> int | None:
    """The parameter `cell`; InvalidArgument."""
    known = tuple(parameter for parameter in COMMON if parameter.name == "cell")
    found = parameters.validated(function, known, {"cell": cell})["cell"]
    return None if found is None else int(str(found))


def _function(function: str) -> tuple[str, str]:
    for ending, kind in sorted(ENDINGS.items(), reverse=True):
        base = function.removesuffix(ending)
        if ending and base != function and base in table_functions():
            return base, kind
    check_algorithm("anonymize", function)
    return function, "release"


def _columns(df: DataFrame) -> pa.Table:
    """An empty table of the columns; TwoColumns where DuckDB could not tell them apart."""
    names = [name.lower() for name in df.columns]
    for name in df.columns:
        if names.count(name.lower()) > 1:
            raise errors.TwoColumns("anonymize", name)
    return to_arrow_schema(df.schema).empty_table()


def _declare(con: Connection, name: str, policy: Any) -> set[str]:
    """Writes the policy of a table, and the hierarchies that come with it; the names of those that it declares."""
    if policy is None:
        return set()
    if isinstance(policy, (str, Path)):
        path = Path(policy).expanduser()
        if not path.is_file():
            raise errors.NotPolicy("anonymize", f"{str(policy)!r}, which is no file")
        if path.suffix.lower() in (".toml", ".csv"):
            try:
                policy = files.read(path, codes.of_cell)
            except ValueError as error:
                raise errors.NotPolicy("anonymize", str(error)) from None
        else:
            policy = _stored(con, name, path)
    elif not isinstance(policy, Mapping):
        policy = files.of_rows(_rows(policy))
    declare(con.raw, spelled(name), **policy)
    return {
        h for (h,) in con.raw.execute(f"SELECT hierarchy FROM {SCHEMA}.policy WHERE hierarchy IS NOT NULL").fetchall()
    }


def _stored(con: Connection, name: str, path: Path) -> dict[str, dict[str, Any]]:
    """What a DuckDB database declares of the table; its hierarchies are taken over."""
    try:
        con.raw.execute(f"ATTACH {text(str(path))} AS {identifier(_THERE)} (READ_ONLY)")
    except Exception:
        raise errors.NotPolicy("anonymize", f"{str(path)!r}, which is no TOML, CSV or DuckDB database") from None
    if not catalog.has_table(con.raw, _THERE, "policy"):
        raise errors.NotPolicy("anonymize", f"{str(path)!r}, which has no table dbanon.policy")
    source = catalog.Source(name, Sql(""), {}, _THERE, "main", name)
    rows = stored_policy.policy_rows(source, con.raw)
    con.raw.execute(f"INSERT INTO {SCHEMA}.hierarchy BY NAME FROM {identifier(_THERE)}.{SCHEMA}.hierarchy")
    con.raw.execute(f"DETACH {identifier(_THERE)}")
    settings = {row.declared.column: {"role": row.declared.role, **vars(row.declared.settings)} for row in rows}
    return {
        column: {s: v for s, v in of.items() if v not in (None, ()) and s != "round"} for column, of in settings.items()
    }


def _rows(policy: Any) -> list[dict[str, Any]]:
    """Rows of a DataFrame (Spark, pandas, Arrow) with the columns of dbanon.policy; NotPolicy."""
    rows: list[dict[str, Any]] | None = None
    if hasattr(policy, "toArrow"):
        rows = policy.toArrow().to_pylist()
    elif isinstance(policy, pa.Table):
        rows = policy.to_pylist()
    elif hasattr(policy, "to_dict"):
        rows = pa.Table.from_pandas(policy).to_pylist()
    if rows is None or any(not {"column_name", "role"} <= row.keys() for row in rows):
        raise errors.NotPolicy("anonymize", f"a {type(policy).__name__}")
    return rows

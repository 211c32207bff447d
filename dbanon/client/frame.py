"""Anonymizes a DataFrame without a database."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dbanon import errors, session
from dbanon.client.connection import connect
from dbanon.functions.registry import check_algorithm, table_functions
from dbanon.functions.table_function import ENDINGS
from dbanon.policy.declare import load_hierarchy
from dbanon.release import timed_search
from dbanon.release.glance import ROWS, Glance
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, text
from dbanon.views import warned

if TYPE_CHECKING:
    import pandas as pd


class _Frames(NamedTuple):
    release: pd.DataFrame
    classes: pd.DataFrame
    metrics: pd.DataFrame


class Anonymized(_Frames):
    """What `anonymize` gives: three DataFrames, and in `parameters` what the call was.

    On a terminal and in a notebook it shows the head of the release, quasi-identifiers first, and five measures.
    """

    parameters: Mapping[str, Any] = MappingProxyType({})

    def __repr__(self) -> str:
        return self._glance().text()

    def _repr_html_(self) -> str:
        return self._glance().html()

    def _glance(self) -> Glance:
        sensitive = self.parameters.get("sensitive") or ()
        kept = {sensitive} if isinstance(sensitive, str) else set(sensitive)
        columns, in_classes = list(self.release.columns), set(self.classes.columns)
        head = self.release.head(ROWS)
        return Glance(
            columns=tuple(map(str, columns)),
            rows=tuple(head.astype(object).where(head.notna(), None).itertuples(index=False, name=None)),
            records=len(self.release),
            quasi=tuple(c for c in columns[:-1] if c in in_classes and c not in kept),
            measures=tuple(self.metrics[["metric", "value", "description"]].itertuples(index=False, name=None)),
        )


def anonymize(
    data: Any,
    algorithm: str = "kacpc",
    *,
    progress: Callable[[float, float], None] | None = None,
    **parameters: Any,
) -> Anonymized:
    """The release, classes and metrics of a DataFrame (pandas, polars or Arrow), a relation of DuckDB or a file.

    A text or a path names a file, as in the table functions: `anonymize("patients.csv", k=10, qi=["age"])`. A relation
    is read once, on its own connection. For a table of a database use `dbanon.connect(path)` and the table functions.

    Parameters are those of the table function, with Python values: `anonymize(df, "kacpc", k=10, qi=["age", "zip"],
    sensitive=["disease"], hierarchies={"zip": [["02138", "021**", "*"], ...]})`. A hierarchy may be a shipped one by
    name, an ARX text, or rows from the leaf to the root. The rows are clustered once. With `improve="5s"` classes are
    improved for that time (Ctrl-C takes the best so far); the moves that were made are `metrics.attrs["improve"]`, and
    the same number as `improve` gives the same release. `progress` is called with the shares of the search that is done
    and of the loss that is gone.
    """
    check_algorithm("anonymize", algorithm)
    names = [p.name for p in table_functions()[algorithm].parameters]
    for name in parameters:
        if name not in names:
            raise errors.UnknownParameter("anonymize", name, names)
    with connect() as con:
        given = dict(parameters)
        if isinstance(hierarchies := given.get("hierarchies"), Mapping):
            given["hierarchies"] = given_hierarchies(con, hierarchies)
        source = relation_name(con, data)
        arguments = "".join(f", {name} := ${name}" for name in given)
        limit = timed_search.seconds("anonymize", given)
        current = session.of_connection(con.raw)
        with session.telling(current, progress):
            if limit is not None:
                with session.searching(current, limit) as search:
                    con.execute(
                        f"FROM {algorithm}_metrics({source}{arguments})", timed_search.untimed("anonymize", given)
                    )
                given = timed_search.untimed("anonymize", given, search.moves)
            frames = []
            for ending in ENDINGS:
                query = f"FROM {algorithm}{ending}({source}{arguments})"
                frames.append(con.execute(query, given or None).df())
        if limit is not None:
            frames[-1].attrs["improve"] = given["improve"]
        warned.one_class("the release", dict(zip(frames[-1]["metric"], frames[-1]["value"], strict=True)))
        made = Anonymized(*frames)
        made.parameters = MappingProxyType({"algorithm": algorithm, **parameters})
        return made


def relation_name(con: Any, data: Any, function: str = "anonymize", name: str = "data") -> Sql:
    """The name of the data, as a call writes it. Raises NotData."""
    if isinstance(data, (str, Path)):
        if not names.is_file(str(data)):
            raise errors.NotData(function, repr(str(data)))
        return text(str(data))
    if hasattr(data, "create_view") and hasattr(data, "to_arrow_table"):  # a relation belongs to its connection
        data = data.to_arrow_table()
    try:
        con.register(name, data)
    except Exception:
        raise errors.NotData(function, f"a {type(data).__name__}") from None
    return text(name)


def given_hierarchies(con: Any, hierarchies: Mapping[str, Any]) -> dict[str, str]:
    """The names of hierarchies by column; those that are given as rows are stored."""
    return {column: _named(con, column, of) for column, of in hierarchies.items()}


def _named(con: Any, column: str, of: Any) -> str:
    """A hierarchy's name; rows are stored under one first."""
    if isinstance(of, str):
        return of
    name = f"given for {column}"
    load_hierarchy(con, name, of)
    return name

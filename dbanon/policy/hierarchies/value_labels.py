"""Write values of numeric and boolean columns as a hierarchy writes them: 35.0 as 35, 1.5 as 1.50, true as True.

Labels of hierarchies are texts. Which notation a hierarchy uses follows from its leaves alone, so that the same value
has the same label in every table of this type. Where leaves are written as DuckDB writes the type, or in several ways,
values are texts as DuckDB writes them.
"""

import re
from collections.abc import Sequence
from typing import Any

from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.policy.hierarchies.storage import InlineHierarchy, StoredHierarchy
from dbanon.source.column_types import NUMERIC_FAMILIES, family, label_text
from dbanon.sqltext.quote import Sql, text

_PLAIN_NUMBER = "-?([0-9]+([.][0-9]+)?|[.][0-9]+)"


def has_notations(type_: str) -> bool:
    """Return whether values of a DuckDB type can be written in several ways: numbers and truth values."""
    return type_ == "BOOLEAN" or family(type_)[0] in NUMERIC_FAMILIES


def leaf_shapes_sql(hierarchy: StoredHierarchy | InlineHierarchy) -> Sql:
    """Return SQL of the shapes of the leaves that are numbers or truth values: one column, ordered.

    The shape of a number is its label with 0 in place of the sign and the digits before the point, and with 1 in place
    of all digits other than 0: 35.0 and 7.0 have the shape 0.0, and 1.25 has 0.11. A number without digits before the
    point keeps none: -.50 has the shape .10. That of a truth value is its label.
    """
    leaves = (
        f"WITH nodes AS ({hierarchy_sql.rows(hierarchy)}) "
        "SELECT label FROM nodes AS n WHERE NOT EXISTS (FROM nodes AS below WHERE below.parent = n.node)"
    )
    shape = "regexp_replace(regexp_replace(ltrim(label, '-'), '^[0-9]+', '0'), '[1-9]', '1', 'g')"
    return Sql(
        f"SELECT DISTINCT {shape} AS shape FROM ({leaves}) "
        f"WHERE regexp_full_match(label, '{_PLAIN_NUMBER}|(?i:true|false)') ORDER BY shape ASC"
    )


def leaf_shapes(cursor: Any, hierarchy: StoredHierarchy | InlineHierarchy) -> tuple[str, ...]:
    """Read the shapes of the leaves of a hierarchy that are numbers or truth values (`leaf_shapes_sql`)."""
    return tuple(shape for (shape,) in cursor.execute(leaf_shapes_sql(hierarchy)).fetchall())


def value_label(value: Sql, type_: str, shapes: Sequence[str]) -> Sql:
    """Return SQL of the text of a value as in labels of a hierarchy whose leaves have these shapes.

    Without shapes, this is `label_text`.

    Args:
        value: SQL of the value.
        type_: Its DuckDB type.
        shapes: The shapes of the leaves, as `leaf_shapes_sql` returns them.
    """
    duckdb_text = label_text(value, type_)
    if not has_notations(type_):
        return duckdb_text
    if type_ == "BOOLEAN":
        return _truth_label(duckdb_text, shapes)
    numbers = [shape for shape in shapes if shape.startswith("0")]
    if numbers and re.fullmatch(r"DECIMAL\((\d+),\1\)", type_):  # DuckDB writes .50
        if any(shape.startswith(".") for shape in shapes):
            return duckdb_text
        duckdb_text = Sql(f"replace({duckdb_text}, '.', '0.')")
    return _number_label(duckdb_text, _n_label_decimals(type_, numbers))


def _n_label_decimals(type_: str, shapes: Sequence[str]) -> int | None:
    """Return how many decimals labels of numbers have: 0 if they have no trailing zeros; None: as DuckDB writes them.

    Values that are leaves as DuckDB writes them remain so: None if a leaf has trailing zeros that DuckDB would write.

    Args:
        type_: The DuckDB type of the column.
        shapes: The shapes of the leaves that are numbers.
    """
    kind, scale = family(type_)
    n_written_decimals = 1 if kind == "float" else scale
    if not shapes or any(_has_written_zeros(shape, n_written_decimals) for shape in shapes):
        return None
    if all("." not in shape or shape.endswith("1") for shape in shapes):
        return 0
    n_decimals = {len(shape.partition(".")[2]) for shape in shapes}
    return n_decimals.pop() if len(n_decimals) == 1 else None


def _has_written_zeros(shape: str, n_written_decimals: int) -> bool:
    """Return whether a leaf has the decimals that DuckDB writes of a whole number; 0 decimals are none at all."""
    decimals = shape.partition(".")[2]
    return len(decimals) == n_written_decimals and not decimals.endswith("1")


def _number_label(duckdb_text: Sql, n_decimals: int | None) -> Sql:
    """Return SQL of the text of a number with this number of decimals; `duckdb_text` is the text that DuckDB writes.

    0 decimals: as many as are needed. Numbers with an exponent or more decimals remain as they are; -0.0 becomes 0.0.
    """
    if n_decimals is None:
        return duckdb_text
    if n_decimals == 0:
        label = rf"regexp_replace({duckdb_text}, '^(-?[0-9]+(?:[.][0-9]*[1-9])?)(?:[.]?0*)$', '\1')"
    else:
        digits = (
            f"concat({duckdb_text}, CASE WHEN contains({duckdb_text}, '.') THEN '' ELSE '.' END, '{'0' * n_decimals}')"
        )
        label = (
            rf"CASE WHEN regexp_full_match({duckdb_text}, '-?[0-9]+([.][0-9]{{0,{n_decimals}}}0*)?') "
            rf"THEN regexp_replace({digits}, '^(-?[0-9]+[.][0-9]{{{n_decimals}}})0*$', '\1') ELSE {duckdb_text} END"
        )
    return Sql(rf"regexp_replace({label}, '^-(0[.]?0*)$', '\1')")


def _truth_label(duckdb_text: Sql, shapes: Sequence[str]) -> Sql:
    """Return SQL of a truth value as the leaves have it; as DuckDB writes it if a leaf is so, or if there are two."""
    labels = [shape for shape in shapes if shape.isalpha()]
    by_value = {value: [label for label in labels if label.lower() == value] for value in ("true", "false")}
    if {"true", "false"} & set(labels) or max(map(len, by_value.values())) > 1 or not labels:
        return duckdb_text
    cases = "".join(f" WHEN '{value}' THEN {text(spellings[0])}" for value, spellings in by_value.items() if spellings)
    return Sql(f"CASE lower({duckdb_text}){cases} ELSE {duckdb_text} END")

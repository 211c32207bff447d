"""Columns between Arrow and numpy, without what makes the first statement of a process slow."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dbanon.udf.arrow_columns import is_valid, list_items, to_arrow, to_numpy, typed_column


@pytest.mark.parametrize("type_", [pa.int32(), pa.int64(), pa.uint64(), pa.float64(), pa.uint8()])
def test_array_numbers_independent_of_offset(type_: Any) -> None:
    full_array = pa.array([i if i % 3 else None for i in range(20)], type_)
    for begin, length in ((0, 20), (1, 2), (7, 9), (3, 0), (9, 1)):
        column = full_array.slice(begin, length)
        expected = column.to_pylist()
        assert is_valid(column).tolist() == [value is not None for value in expected]
        assert to_numpy(column, 200).tolist() == [200 if value is None else value for value in expected]
    full = pa.array(range(5), type_)
    assert to_numpy(full).tolist() == [0, 1, 2, 3, 4] and to_numpy(full).dtype == type_.to_pandas_dtype()
    assert to_numpy(pa.array([], type_)).tolist() == []


def test_integer_null_needs_named_replacement() -> None:
    assert np.isnan(to_numpy(pa.array([None, 1.0]))[0])
    with pytest.raises(ValueError, match="NaN"):
        to_numpy(pa.array([None, 1]))


def test_list_items_returns_items_of_single_list() -> None:
    lists = pa.array([[1, 2], None, [], [3, None]])
    assert [list_items(lists.slice(i, 1)).to_pylist() for i in range(4)] == [[1, 2], [], [], [3, None]]


def test_packed_values_form_column() -> None:
    for values in (np.arange(10)[::2], np.arange(3, dtype=np.int32), np.zeros(0), np.arange(3.0)):
        column = to_arrow(values)
        column.validate(full=True)
        assert column.null_count == 0 and column.to_pylist() == values.tolist()


def test_nulls_of_packed_values_are_masked() -> None:
    for values in (np.arange(10)[::2], np.arange(5, dtype=np.int32), np.arange(5.0)):
        column = to_arrow(values, values > 3)
        column.validate(full=True)
        assert column.to_pylist() == [None if value > 3 else value for value in values.tolist()]


_PERSON = pa.struct([("name", pa.string()), ("ages", pa.list_(pa.int32())), ("flag", pa.bool_())])


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([1, None, -3], pa.int64()),
        ([None, 0.5], pa.float64()),
        (["", None, "\u00e9\u4e2d", "x" * 9], pa.string()),
        ([True, None, False] * 4, pa.bool_()),
        ([[1, None], None, [], [4]], pa.list_(pa.int32())),
        ([{"name": "a", "ages": [1], "flag": True}, None, {"ages": None}, {}], _PERSON),
        ([[{"name": None}, None], None], pa.list_(_PERSON)),
        ([{"inner": {"name": "a"}}, {"inner": None}], pa.struct([("inner", _PERSON)])),
        ([], _PERSON),
        ([], pa.string()),
    ],
)
def test_typed_column_equals_column_of_pyarrow(values: list[Any], type_: Any) -> None:
    column = typed_column(values, type_)
    column.validate(full=True)
    assert column.type == type_ and column.to_pylist() == pa.array(values, type_).to_pylist()


CALL = textwrap.dedent(
    """
    import sys
    import duckdb, dbanon
    con = duckdb.connect()
    dbanon.attach(con)
    attached = sorted({"dbanon.udf.cluster", "numba"} & set(sys.modules))
    con.execute("CREATE TABLE t AS SELECT i % 7 AS a, 'c' || i % 5 AS c, 'd' || i % 4 AS d FROM range(60) r (i)")
    con.execute("FROM mondrian('t', k = 5, qi = ['a', 'c'], sensitive = ['d'], l = 2)").fetchall()
    own = {"numba"} if duckdb.__version__ < "2" else {"numba", "pandas", "pyarrow.compute"}  # 1.5 imports all itself
    print(attached, sorted(own & set(sys.modules)))
    """
)


def test_attach_and_call_import_only_required_modules() -> None:
    completed = subprocess.run([sys.executable, "-c", CALL], capture_output=True, text=True, check=True)
    assert completed.stdout.splitlines()[-1] == "[] []"

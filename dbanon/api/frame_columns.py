"""Columns of pandas DataFrames whose types DuckDB does not read, and columns whose names are not texts."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dbanon.table_functions.parameter_types import Columns
from dbanon.table_functions.parameters import Parameter


def readable_frame(frame: Any) -> Any:
    """Return a pandas DataFrame whose columns DuckDB can read; the same one if it can read all of them.

    Sparse columns become dense. Periods become the timestamps at which they start. Intervals, categories that are
    intervals (as `pandas.cut` makes them), complex numbers and types of other libraries become texts.
    """
    readable = None
    for index, dtype in enumerate(frame.dtypes):
        if _is_readable(dtype):
            continue
        readable = frame.copy(deep=False) if readable is None else readable
        readable.isetitem(index, _readable_column(frame.iloc[:, index]))
    return frame if readable is None else readable


def _is_readable(dtype: Any) -> bool:
    """Return whether DuckDB reads columns of a dtype of pandas."""
    import pandas as pd

    if isinstance(dtype, pd.CategoricalDtype):
        return _is_readable(dtype.categories.dtype)
    if isinstance(dtype, (pd.IntervalDtype, pd.PeriodDtype, pd.SparseDtype)):
        return False
    if isinstance(dtype, pd.api.extensions.ExtensionDtype):
        return type(dtype).__module__.split(".")[0] == "pandas"
    return getattr(dtype, "kind", "O") != "c"


def _readable_column(column: Any) -> Any:
    """Return a column of a dtype that DuckDB does not read as one of a dtype that it reads."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        dense = column.sparse.to_dense()
        return dense if _is_readable(dense.dtype) else _readable_column(dense)
    if isinstance(dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if isinstance(dtype, pd.CategoricalDtype):
        return column.cat.rename_categories([str(category) for category in dtype.categories])
    return column.astype(object).map(str, na_action="ignore")


def frame_name(data: Any) -> str:
    """Return the name under which data are registered, so that messages speak of them.

    >>> frame_name(object())
    'the data'
    """
    library = type(data).__module__.split(".")[0].lstrip("_")
    names = {"pandas": "the DataFrame", "polars": "the DataFrame", "pyarrow": "the Arrow table"}
    return names.get(library, "the relation" if library == "duckdb" else "the data")


def text_names(data: Any, parameters: Mapping[str, Any], declared: Sequence[Parameter]) -> dict[str, Any]:
    """Return parameters with the names of columns as texts, if data are a pandas DataFrame that has such columns.

    DuckDB names the column 0 of a DataFrame `0`, so `qi=[0]` means it.

    Args:
        data: The data of the call.
        parameters: The parameters of the call.
        declared: The parameters of the function.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return dict(parameters)
    columns = {str(label) for label in data.columns}
    with_columns = {p.name for p in declared if isinstance(p.kind, Columns) or p.name == "person"}

    def text_name(label: Any) -> Any:
        """Return the name of a column as text; any other value unchanged."""
        return str(label) if not isinstance(label, str) and str(label) in columns else label

    result = dict(parameters)
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            result[name] = {text_name(key): item for key, item in value.items()}
        elif name in with_columns:
            result[name] = [text_name(item) for item in value] if isinstance(value, (list, tuple)) else text_name(value)
    return result

"""Frames of any library: the result is of the kind of the input, with its types and released rows only."""

from __future__ import annotations

import datetime
import random
import subprocess
import sys
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import dbanon
from dbanon import errors
from dbanon.api import duckdb_relations, frame_adapters

COUNT = 12
AGES = list(range(20, 20 + COUNT))
CALL: dict[str, Any] = {"k": 3, "qi": ["age"], "sensitive": ["disease"]}
HOSTILE = 'x"); DROP TABLE t; --'
LONG_AGO = datetime.datetime(1960, 1, 1, 0, 30)
TYPES = [
    ("days", pa.date32(), datetime.date(1960, 1, 1)), ("money", pa.decimal128(20, 2), Decimal("123456789012345678.10")),
    ("zoned", pa.timestamp("us", "Europe/Berlin"), LONG_AGO.astimezone(datetime.UTC)),
    ("lasting", pa.duration("us"), datetime.timedelta(seconds=90)), ("large", pa.int64(), 2**60 + 1),
    ("lists", pa.list_(pa.string()), ["x", "y"]), ("pairs", pa.struct([("a", pa.int64())]), {"a": 1}),
    ("yes", pa.bool_(), True), ("😀 " + HOSTILE, pa.string(), "<b>"), ("none", pa.float64(), None),
]  # fmt: skip


def arrow() -> pa.Table:
    """Return an Arrow table of twelve people."""
    return pa.table({"age": AGES, "disease": ["Flu", "Cold", "HIV"] * 4})


def typed_table() -> pa.Table:
    """Return the twelve people with a column of every type."""
    table = arrow()
    for name, type_, value in TYPES:
        table = table.append_column(name, pa.array([value] * COUNT, type_))
    return table


def as_arrow(frame: Any) -> pa.Table:
    """Return the rows of a frame of any kind as Arrow."""
    if isinstance(frame, pd.DataFrame):
        return pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.RecordBatchReader):
        return frame.read_all()
    for method in ("collect", "to_pyarrow", "to_arrow_table", "to_arrow"):
        if hasattr(frame, method):
            frame = getattr(frame, method)()
            if isinstance(frame, pa.Table):
                return frame
    return frame if isinstance(frame, pa.Table) else frame.to_arrow()


class OneTimeStream:
    """A frame class of a third party that can be read once."""

    def __init__(self, table: pa.Table) -> None:
        self.reader = table.to_reader(max_chunksize=5)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


def polars(table: pa.Table) -> Any:
    return pytest.importorskip("polars", reason="polars is not installed").from_arrow(table)


def ibis(table: pa.Table) -> Any:
    return pytest.importorskip("ibis", reason="ibis is not installed").memtable(table)


def nanoarrow(table: pa.Table) -> Any:
    return pytest.importorskip("nanoarrow", reason="nanoarrow is not installed").ArrayStream(table)


KINDS: dict[str, tuple[Any, str, str]] = {
    "pandas": (lambda t: t.to_pandas(), "DataFrame", "DataFrame"),
    "arrow-backed pandas": (lambda t: t.to_pandas(types_mapper=pd.ArrowDtype), "DataFrame", "DataFrame"),
    "table": (lambda t: t, "Table", "Table"),
    "batch": (lambda t: t.to_batches()[0], "RecordBatch", "Table"),
    "reader": (lambda t: t.to_reader(max_chunksize=5), "RecordBatchReader", "Table"),
    "stream": (OneTimeStream, "Table", "Table"),
    "relation": (lambda t: duckdb.connect().from_arrow(t), "DuckDBPyRelation", "DuckDBPyRelation"),
    "polars": (polars, "DataFrame", "DataFrame"),
    "lazy": (lambda t: polars(t).lazy(), "LazyFrame", "DataFrame"),
    "ibis": (ibis, "Table", "Table"),
    "nanoarrow": (nanoarrow, "Table", "Table"),
}


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # a warning of pandas 3.1 about DuckDB 1.5
@pytest.mark.parametrize("kind", KINDS)
def test_output_frame_type_and_dtypes_match_input(kind: str) -> None:
    make, release, classes = KINDS[kind]
    table = typed_table()
    if kind in ("ibis", "relation"):
        table = table.drop_columns(["lasting"])  # ibis gives no durations, and those of DuckDB are intervals
    unchanged = [name for name in table.column_names if name not in ("age", "disease")]
    arguments = make(table)
    anonymized = dbanon.anonymize(arguments, "mondrian", **CALL, insensitive=unchanged)
    assert [type(frame).__name__ for frame in anonymized] == [release, classes, classes]
    if kind not in ("stream", "nanoarrow"):
        assert type(anonymized.release) is type(arguments)
    rows = as_arrow(anonymized.release)
    assert rows.column_names == [*table.column_names, "class_id"] and rows.num_rows == COUNT
    assert rows["age"].to_pylist()[::3] == ["[20, 22]", "[23, 25]", "[26, 28]", "[29, 31]"]
    for name in unchanged:
        values, wanted = rows[name].to_pylist(), table[name].to_pylist()
        assert values == wanted, name
        if kind != "relation" and pa.types.is_timestamp(table.schema.field(name).type):
            assert rows.schema.field(name).type.tz == "Europe/Berlin"
    assert as_arrow(anonymized.classes)["size"].to_pylist() == [3, 3, 3, 3]
    assert "records" in as_arrow(anonymized.metrics)["metric"].to_pylist()
    assert repr(anonymized).splitlines()[0].startswith("age") and "12 rows, 5 shown" in repr(anonymized)
    if release == "RecordBatchReader":
        return
    assert dbanon.risk(anonymized, source=arrow()).set_index("name")["value"]["prosecutor_highest"] == pytest.approx(
        1 / 3
    )


# --- released rows only --------------------------------------------------------------------------------------


def test_pandas_index_ignored_and_order_not_revealed() -> None:
    names = [f"Ann No. {i}" for i in range(COUNT)]
    frame = pd.DataFrame(arrow().to_pandas()).set_index(pd.Index(names, name="name"))
    frame.attrs["study"] = "secret"
    release = dbanon.anonymize(frame, "mondrian", **CALL).release
    assert list(release) == ["age", "disease", "class_id"]
    assert release.index.equals(pd.RangeIndex(COUNT)) and release.index.name is None and not release.attrs
    with pytest.raises((errors.DbanonError, duckdb.Error), match="name"):
        dbanon.anonymize(frame, "mondrian", k=3, qi=["name"])
    table_with_metadata = pa.Table.from_pandas(frame)
    assert not dbanon.anonymize(table_with_metadata, "mondrian", **CALL).release.schema.metadata


@pytest.mark.parametrize("algorithm", ["mondrian", "kacpc", "mdav"])
def test_source_order_does_not_change_release(algorithm: str) -> None:
    table = pa.table({"age": [i // 2 for i in range(40)], "disease": ["Flu", "Cold", "HIV", "Flu"] * 10})
    first = dbanon.anonymize(table, algorithm, **CALL).release
    for seed in (1, 2):
        shuffled = table.take(random.Random(seed).sample(range(40), 40))
        assert dbanon.anonymize(shuffled, algorithm, **CALL).release.equals(first)
        assert dbanon.anonymize(shuffled.to_pandas(), algorithm, **CALL).release.equals(first.to_pandas())


def test_unused_categories_are_not_published() -> None:
    disease = pd.Categorical(["Flu", "Cold", "HIV"] * 4, categories=["Flu", "Cold", "HIV", "Ann Smith's"])
    release = dbanon.anonymize(pd.DataFrame({"age": AGES, "disease": disease}), "mondrian", **CALL).release
    assert not isinstance(release["disease"].dtype, pd.CategoricalDtype)
    assert set(release["disease"]) == {"Flu", "Cold", "HIV"}
    table = arrow().set_column(1, "disease", pa.array(disease))
    for given_table in (table, table.to_reader(), duckdb.connect().from_arrow(table)):
        result = as_arrow(dbanon.anonymize(given_table, "mondrian", **CALL).release)
        assert result.schema.field("disease").type == pa.string()
    nested = pa.list_(pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))]))
    assert frame_adapters.without_dictionaries(nested) == pa.list_(pa.struct([("a", pa.string())]))
    assert frame_adapters.without_dictionaries(pa.map_(pa.string(), pa.dictionary(pa.int8(), pa.string()))) == pa.map_(
        pa.string(), pa.string()
    )


# --- values -------------------------------------------------------------------------------------------------


def test_pandas_missing_is_null_arrow_nan_kept() -> None:
    weights = [1.5, float("nan"), None] * 4
    parameters = {**CALL, "insensitive": ["weight"]}
    table = arrow().append_column("weight", pa.array(weights))
    released_values = dbanon.anonymize(table, "mondrian", **parameters).release["weight"].to_pylist()
    assert sorted(map(str, released_values)) == sorted(map(str, weights))
    frame = dbanon.anonymize(table.to_pandas(), "mondrian", **parameters).release["weight"]
    assert frame.dtype == float and frame.isna().sum() == 8
    backed = table.to_pandas(types_mapper=pd.ArrowDtype)
    back = dbanon.anonymize(backed, "mondrian", **parameters).release["weight"]
    assert pa.array(back).null_count == 4


def test_nullable_integers_keep_dtype() -> None:
    frame = arrow().to_pandas()
    frame["number"] = pd.array([2**60 + 1, None, 2**60 + 1] * 4, dtype="Int64")
    frame["yes"] = pd.array([True, None, True] * 4, dtype="boolean")
    release = dbanon.anonymize(frame, "mondrian", **CALL, insensitive=["number", "yes"]).release
    assert release["number"].dtype == pd.Int64Dtype() and release["yes"].dtype == pd.BooleanDtype()
    assert set(release["number"].dropna()) == {2**60 + 1}


def test_polars_wide_integers_become_decimals_and_enums_text() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars(arrow()).with_columns(
        pl.lit(2**70).cast(pl.Int128).alias("wide"), pl.col("disease").cast(pl.Enum(["Flu", "Cold", "HIV", "Secret"]))
    )
    release = dbanon.anonymize(frame, "mondrian", **CALL, insensitive=["wide"]).release
    assert release.schema["disease"] == pl.String and set(release["wide"]) == {Decimal(2**70)}


def test_lazy_plan_is_run_once() -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed")
    runs: list[int] = []

    def record_run(frame: Any) -> Any:
        runs.append(len(frame))
        return frame

    plan = polars(arrow()).lazy().map_batches(record_run)
    assert isinstance(dbanon.anonymize(plan, "mondrian", **CALL).release, pl.LazyFrame)
    assert runs == [COUNT]


# --- relations ----------------------------------------------------------------------------------------------


def test_relation_returned_on_own_connection() -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE people AS SELECT 20 + range AS age, 'Flu' AS disease FROM range(12)")
        con.execute("CREATE TABLE prices AS SELECT 'Flu' AS disease, 3 AS price")
        anonymized = dbanon.anonymize(con.table("people"), "mondrian", **CALL)
        safe = anonymized.release
        assert con.sql("SELECT count(*), sum(price) FROM safe JOIN prices USING (disease)").fetchall() == [(12, 36)]
        assert con.sql("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
        con.execute("DELETE FROM people")
        assert len(safe.fetchall()) == 12 and anonymized.classes.aggregate("sum(size)").fetchall() == [(12,)]


def test_relation_without_python_scan_returned_elsewhere() -> None:
    with duckdb.connect(config={"enable_external_access": "false"}) as con:
        con.execute("CREATE TABLE people AS SELECT 20 + range AS age, 'Flu' AS disease FROM range(12)")
        assert len(dbanon.anonymize(con.table("people"), "mondrian", **CALL).release.fetchall()) == 12
        assert con.sql("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]


# --- inputs that are no frames -------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_differing_by_case_refused(library: str) -> None:
    for names in (["age", "age"], ["Age", "age"]):
        columns = [pa.array(AGES), pa.array(AGES)]
        table: Any = pa.table(columns, names=names)
        if library == "pandas":
            table = pd.DataFrame([[1, 2]] * COUNT, columns=names)
        with pytest.raises(errors.DuplicateColumnError, match="cannot distinguish"):
            dbanon.anonymize(table, k=3, qi=["age"])


def test_empty_frames_and_non_frames_raise_one_error() -> None:
    for empty in (pd.DataFrame(), pa.table({}), pd.DataFrame(index=[1, 2])):
        with pytest.raises(errors.EmptySourceError):
            dbanon.anonymize(empty, k=2, qi=["age"])
    with pytest.raises(duckdb.Error, match="has no rows"):
        dbanon.anonymize(arrow().slice(0, 0), k=2, qi=["age"])
    with pytest.raises(duckdb.Error, match="needs at least two"):
        dbanon.anonymize(arrow().slice(0, 1), k=2, qi=["age"])
    for nothing in (None, 5, object()):
        with pytest.raises(errors.UnsupportedInputError):
            dbanon.anonymize(nothing, k=2, qi=["age"])


def test_frames_usable_by_name_and_streams_read_once() -> None:
    with dbanon.connect() as con:
        mine = OneTimeStream(arrow())
        assert mine is not None
        query = "FROM mondrian('mine', k=3, qi=['age'], sensitive=['disease'])"
        assert len(con.sql(query).fetchall()) == COUNT
        with pytest.raises((errors.DbanonError, duckdb.Error), match="no rows"):
            con.sql(query).fetchall()
        twice = pd.DataFrame([[1, 2]], columns=["Age", "age"])
        assert len(twice) == 1
        with pytest.raises(errors.DuplicateColumnError, match="mondrian"):
            con.sql("FROM mondrian('twice', k=3, qi=['age'])")
    odd = arrow().rename_columns(["columns", "column_names"]).to_pandas()
    assert len(dbanon.anonymize(odd, "mondrian", k=3, qi=["columns"], sensitive=["column_names"]).release) == COUNT
    assert frame_adapters.is_frame(mine) and not frame_adapters.is_frame("mine")


@pytest.mark.not_everyday
def test_unused_frame_libraries_are_not_imported() -> None:
    code = (
        "import sys, time; t = time.process_time(); import dbanon; assert time.process_time() - t < 0.1\n"
        "import pyarrow as pa\n"
        "dbanon.anonymize(pa.table({'age': [1, 2, 3, 4]}), 'mondrian', k=2, qi=['age'])\n"
        "assert not {'polars', 'ibis', 'narwhals', 'IPython'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "columns",
    [
        {
            "text": pa.array(["ä", None, "", "x'\n"]),
            "number": pa.array([1, None, 3, 4]),
            "none": pa.nulls(4, pa.string()),
        },
        {"only": pa.array(["a", "b"]), "texts": pa.array([None, "c"]), "empty": pa.array(["", ""])},
        {"text": pa.array([], pa.string()), "day": pa.array([], pa.date32())},
        {
            "nested": pa.array([["a"], None]),
            "bytes": pa.array([b"1", None]),
            "long": pa.array(["q", None], pa.large_string()),
        },
    ],
)
def test_dataframe_from_arrow_equals_that_of_duckdb(columns: dict[str, pa.Array]) -> None:
    table = pa.concat_tables([pa.table(columns), pa.table(columns).slice(1), pa.table(columns).slice(0, 0)])
    ours = duckdb_relations.dataframe_from_arrow(table)
    theirs = duckdb_relations.relation_from_arrow(table).df()
    pd.testing.assert_frame_equal(ours, theirs)
    assert [type(ours[name].array) for name in ours] == [type(theirs[name].array) for name in theirs]

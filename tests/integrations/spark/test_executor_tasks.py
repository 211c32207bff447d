"""Tasks of a Spark executor, without Spark: parts of a table are clustered as DuckDB releases tables."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

import dbanon
from dbanon import algorithms
from dbanon.integrations.spark.session_call import CallPlanner, PortableCall, TableCounts

CITIES = [[city, country, "*"] for city, country in (("Oslo", "NO"), ("Bergen", "NO"), ("Lund", "SE"), ("Umea", "SE"))]
POLICY: dict[str, Any] = {
    "age": "quasi",
    "born": {"role": "quasi", "rounding": "month"},
    "city": ("quasi", "cities"),
    "sex": "quasi",
    "disease": "sensitive",
    "ward": "insensitive",
    "name": "identifier",
}


@pytest.fixture(scope="module")
def clinic() -> Any:
    """Return 160 records, some of them equal, with NULLs."""
    draw = random.Random(7)
    rows = [
        (
            None if draw.random() < 0.05 else 20 + draw.randrange(30),
            f"{1980 + draw.randrange(3)}-0{1 + draw.randrange(9)}-1{draw.randrange(10)}",
            draw.choice(CITIES)[0],
            draw.choice(["f", "m", None]),
            draw.choice(["Flu", "HIV", "Cancer", "Cold"]),
            draw.choice(["A", "B"]),
            f"person {i % 110}",
        )
        for i in range(150)
    ]
    rows += rows[:10]
    with dbanon.connect() as con:
        con.execute(
            "CREATE TABLE t "
            "(age INTEGER, born DATE, city VARCHAR, sex VARCHAR, disease VARCHAR, ward VARCHAR, name VARCHAR)"
        )
        con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        dbanon.load_hierarchy(con, "cities", CITIES)
        dbanon.declare(con, "t", **POLICY)
        yield con


def spark_call(con: Any, function: str, **parameters: Any) -> PortableCall:
    tables = [con.sql(f"FROM dbanon.{name}").to_arrow_table() for name in ("policy", "hierarchy")]
    return PortableCall(function, "t", con.sql("FROM t LIMIT 0").to_arrow_table(), *tables, parameters, "UTC")


def tuples_with_counts(con: Any, planner: CallPlanner, condition: str = "true") -> tuple[pa.Table, pa.Array]:
    """Return the distinct rows of the source, and the count of each."""
    columns = ", ".join(planner.read_columns)
    rows = con.sql(f"SELECT {columns}, count(*) AS n FROM t WHERE {condition} GROUP BY ALL").to_arrow_table()
    return rows.drop_columns("n"), rows.column("n")


def whole_table_values(con: Any, planner: CallPlanner, persons: bool = False) -> TableCounts:
    """Return the values of the whole table."""
    size = "count(DISTINCT name)" if persons else "count(*)"
    values = {
        name: con.sql(f"SELECT {name} AS value, {size} AS size FROM t GROUP BY ALL").to_arrow_table()
        for name in (*planner.quasi_columns, *planner.sensitive_columns)
    }
    return TableCounts(values, con.sql("SELECT count(*) FROM t").fetchall()[0][0])


def publishable_rows(assigned: pa.Table) -> Counter[tuple[str, ...]]:
    """Return the published rows, without class numbers."""
    counts: Counter[tuple[str, ...]] = Counter()
    for row in assigned.to_pylist():
        if row["published"] is not None:
            counts[countable_row((*row["published"].values(), row["own"]["disease"], row["own"]["ward"]))] += row[
                "size"
            ]
    return counts


def released_rows(con: Any, function: str, **parameters: Any) -> Counter[tuple[str, ...]]:
    call = "".join(f", {name} := ${name}" for name in parameters)
    con.execute(f"SELECT * EXCLUDE (class_id) FROM {function}('t'{call})", parameters)
    names = [column[0] for column in con.description]
    order = [i for i, name in enumerate(names) if name not in ("disease", "ward")] + [
        names.index("disease"),
        names.index("ward"),
    ]
    return Counter(countable_row(row[i] for i in order) for row in con.fetchall())


def countable_row(row: Iterable[Any]) -> tuple[str, ...]:
    """Return a row that can be counted."""
    return tuple(map(repr, row))


def required_parameters(name: str) -> dict[str, Any]:
    """Return arguments without which a function refuses the call."""
    return {"allow_slow": True} if any(p.name == "allow_slow" for p in algorithms.find(name).parameters) else {}


@pytest.mark.parametrize("name", [a.name for a in algorithms.algorithms()])
def test_single_spark_part_equals_duckdb_release(clinic: Any, name: str) -> None:
    parameters = {"k": 5, **required_parameters(name)}
    planned = CallPlanner(spark_call(clinic, name, **parameters))
    wanted = released_rows(clinic, name, **parameters)
    own_part, weights = tuples_with_counts(clinic, planned)
    assert publishable_rows(planned.assign_classes(own_part, weights, None)) == wanted
    if not planned.spec.run.preprocessing.description:
        assert (
            publishable_rows(planned.assign_classes(own_part, weights, whole_table_values(clinic, planned))) == wanted
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"intervals": "bounds"},
        {"intervals": "struct"},
        {"l": 2},
        {"t": 0.4},
        {"alpha": 0.7, "suppress": 0.1},
        {"nulls": "drop"},
        {"person": "name", "l": 2},
        {"max_level": {"city": 1}},
        {"min_level": {"city": 1}, "top": {"age": 40}, "rounding": {"age": 5}},
        {"missing_codes": {"city": ["Oslo"]}},
        {"improve": 500},
    ],
    ids=str,
)
def test_spark_parts_apply_call_settings(clinic: Any, settings: dict[str, Any]) -> None:
    settings = {"k": 5, **settings}
    if "person" in settings:
        clinic.execute("UPDATE dbanon.policy SET role = 'person' WHERE column_name = 'name'")
        settings.pop("person")
    try:
        planned = CallPlanner(spark_call(clinic, "kacpc", **settings))
        wanted = released_rows(clinic, "kacpc", **settings)
        own_part, weights = tuples_with_counts(clinic, planned)
        assert publishable_rows(planned.assign_classes(own_part, weights, None)) == wanted
        if settings.get("nulls") == "drop":
            own_part = planned.drop_null_rows(
                clinic.sql(f"SELECT {', '.join(planned.read_columns)} FROM t").to_arrow_table()
            )
            assert len(own_part) == sum(wanted.values())
            assert publishable_rows(planned.assign_classes(own_part, pa.repeat(1, len(own_part)), None)) == wanted
        else:
            assert (
                publishable_rows(
                    planned.assign_classes(
                        own_part, weights, whole_table_values(clinic, planned, planned.spec.roles.person is not None)
                    )
                )
                == wanted
            )
    finally:
        clinic.execute("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'name'")


def test_spark_part_metrics_use_whole_table(clinic: Any) -> None:
    """Ranks of published ends, which order classes of all parts, and distances from the whole distribution."""
    planned = CallPlanner(spark_call(clinic, "mondrian", k=5, qi=["age"], t=0.35, allow_rare=["ward"]))
    own_part, weights = tuples_with_counts(clinic, planned, "age BETWEEN 35 AND 44")
    full_result = whole_table_values(clinic, planned)
    values = planned.assign_classes(own_part, weights, full_result).to_pylist()
    ages = sorted(row[0] for row in clinic.execute("SELECT DISTINCT age FROM t WHERE age IS NOT NULL").fetchall())
    for row in values:
        low, high = ages[row["keys"]["l0"]], ages[row["keys"]["h0"]]
        assert row["published"]["age"] == (f"[{low}, {high}]" if low < high else str(low))
        assert (row["lost"]["a0"], row["lost"]["b0"]) == (low - ages[0], high - ages[0])
    alone = planned.assign_classes(own_part, weights, None).to_pylist()
    assert min(row["keys"]["l0"] for row in alone) == 0 < min(row["keys"]["l0"] for row in values)
    # A part of one value only is far from the whole table, though not from itself.
    one, counts = tuples_with_counts(clinic, planned, "age BETWEEN 35 AND 44 AND disease = 'Flu'")
    assert planned.assign_classes(one, counts, None).num_rows
    with pytest.raises(Exception, match=r"t = 0\.35"):
        planned.assign_classes(one, counts, full_result)


def test_count_uncovered_finds_altered_values(clinic: Any) -> None:
    planned = CallPlanner(spark_call(clinic, "kacpc", k=5))
    own_part, weights = tuples_with_counts(clinic, planned)
    result = planned.assign_classes(own_part, weights, None)
    rows = pa.Table.from_arrays(result.column("own").combine_chunks().flatten(), planned.read_columns)
    display = pa.Table.from_arrays(result.column("published").combine_chunks().flatten(), planned.quasi_columns)
    assert planned.count_uncovered(rows, display) == (0, 0)
    for column, wrong, refusal in (
        ("age", "[1, 2]", "uncovered"),
        ("city", "Paris", "uncovered"),
        ("born", "1980-01-13", "finer"),
    ):
        values = display.column(column).to_pylist()
        values[3] = wrong
        spoiled = display.set_column(planned.quasi_columns.index(column), column, pa.array(values))
        uncovered, finer = planned.count_uncovered(rows, spoiled)
        assert (uncovered if refusal == "uncovered" else finer) >= 1


def test_spark_part_models_measured_per_class(clinic: Any) -> None:
    planned = CallPlanner(spark_call(clinic, "kacpc", k=2, l=2, t=0.9))
    rows = clinic.sql(f"SELECT {', '.join(planned.read_columns)} FROM t ORDER BY ALL LIMIT 40").to_arrow_table()
    diseases = rows.column("disease").to_pylist()
    full_result = whole_table_values(clinic, planned)
    for classes in ([0] * 40, [0 if d == "Flu" else 1 for d in diseases]):
        placed_table = pa.table({"class_id": classes, "size": [1] * 40})
        rows_by_model = {
            row["model"]: row for row in planned.measure_models(rows, placed_table, full_result).to_pylist()
        }
        values = [len({d for d, c in zip(diseases, classes, strict=True) if c == number}) for number in set(classes)]
        numbers = {planned.spec.model_requirements[n].parameter: n for n in rows_by_model}
        assert rows_by_model[numbers["l"]]["value"] == min(values)
        assert rows_by_model[numbers["l"]]["missed"] == sum(v < 2 for v in values)

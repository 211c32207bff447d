"""Columns published unchanged count in risk: alone, together, and in the metrics of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main

MEASURES = ("k", "k_full_record", "unique_by_unchanged_columns")


@pytest.fixture
def goods(con: Any) -> Any:
    """Create ten products and ten shops, each with twenty of 200 records, and two records per combination."""
    con.execute(
        "CREATE TABLE t AS SELECT 20 + i % 5 AS age, i % 10 AS product, i // 10 % 10 AS shop, i AS income, "
        "i // 4 AS who FROM range(200) AS r (i)"
    )
    return con


def test_jointly_identifying_columns_refused(goods: Any) -> None:
    for column in ("product", "shop"):
        assert goods.execute(
            f"SELECT count(*) FROM kacpc('t', k=10, qi=['age'], insensitive=['{column}'])"
        ).fetchall() == [(200,)]
    call = "SELECT count(*) FROM kacpc('t', {}, qi := ['age'], insensitive := ['product', 'shop']{})"
    with pytest.raises(duckdb.Error, match="100 combinations of their values belong to fewer than k = 10"):
        goods.execute(call.format("k := 10", ""))
    with pytest.raises(duckdb.Error, match="allow_rare = "):
        goods.execute(call.format("k := 10", ", person := 'who'"))
    assert goods.execute(call.format("k := 2", "")).fetchall() == [(200,)]
    assert goods.execute(call.format("k := 10", ", allow_rare := ['shop']")).fetchall() == [(200,)]


def test_unchanged_columns_count_in_metrics(goods: Any) -> None:
    def metric_values(call: str) -> dict[str, float]:
        rows = goods.execute(f"SELECT metric, value FROM kacpc_metrics('t', k := 10, qi := ['age'], {call})").fetchall()
        return {name: value for name, value in rows if name in MEASURES}

    assert metric_values("sensitive := ['product']") == {"k": 40, "k_full_record": 20, "unique_by_unchanged_columns": 0}
    assert metric_values("sensitive := ['income']") == {"k": 40, "k_full_record": 1, "unique_by_unchanged_columns": 200}
    assert metric_values("sensitive := ['who'], person := 'income'") == {
        "k": 40,
        "k_full_record": 1,
        "unique_by_unchanged_columns": 0,
    }
    assert (
        metric_values("insensitive := ['who'], person := 'product', allow_rare := ['who']")[
            "unique_by_unchanged_columns"
        ]
        == 0
    )
    goods.execute("UPDATE t SET product = who")  # all records of a person have one value of their own
    assert metric_values("sensitive := ['product'], person := 'who'")["unique_by_unchanged_columns"] == 200


@pytest.mark.not_everyday
def test_risk_and_metrics_count_unchanged_columns_equally(goods: Any) -> None:
    def count_values(call: str) -> list[Any]:
        query = f"SELECT value, classes, records FROM risk({call}) WHERE name = 'k_full_record'"
        return goods.execute(query).fetchall()

    dbanon.declare(goods, "t", age="quasi", product="sensitive", shop="insensitive")
    for further, minimum in (("", 2), (", withhold := ['shop']", 20)):
        text = f"'t', k := 2, allow_rare := ['shop']{further}" if not further else f"'t', k := 2{further}"
        goods.execute(f"CREATE OR REPLACE TABLE release AS FROM kacpc({text})")
        measured_rows = goods.execute(
            f"SELECT value FROM kacpc_metrics({text}) WHERE metric = 'k_full_record'"
        ).fetchall()
        assert measured_rows == [(minimum,)]
        assert count_values("'release', source := 't'") == [(minimum, 5, 200)]
    goods.execute("INSERT INTO release SELECT * REPLACE (77 AS product) FROM release ORDER BY ALL LIMIT 3")
    assert count_values("'release', source := 't'") == [(3, 1, 43)]
    assert count_values("'release', qi := ['age']") == []
    assert count_values("'release', qi := ['age'], sensitive := ['product']") == [(3, 1, 43)]


def test_unique_making_columns_are_policy_problem(goods: Any) -> None:
    from dbanon.views import doctor

    dbanon.declare(goods, "t", age="quasi", product="sensitive", shop="insensitive")
    assert goods.execute("FROM policy_problems()").fetchall() == []
    dbanon.declare(goods, "t", income="sensitive")
    rows = goods.execute("SELECT table_name, column_name, problem, statement FROM policy_problems()").fetchall()
    assert [row[:2] for row in rows] == [("t", "income, product, shop")]
    assert "200 records share all values of income, product, shop with no other record" in rows[0][2]
    assert [p.about for p in doctor.problems(goods)] == ["t.income, product, shop"]
    goods.execute(rows[0][3])  # withholds the column with most values
    assert goods.execute("FROM policy_problems()").fetchall() == []
    assert goods.execute("SELECT column_name FROM dbanon.policy ORDER BY ALL").fetchall() == [
        ("age",),
        ("product",),
        ("shop",),
    ]


def test_certificate_states_uniqueness_by_unchanged_columns(goods: Any) -> None:
    dbanon.create_release(goods, "safe", "kacpc", "t", k=10, qi=["age"], sensitive=["income"])
    rows = goods.execute("SELECT item, value, sql FROM certificate('safe')").fetchall()
    lines = {element: (value, sql) for element, value, sql in rows}
    for element, value in (
        ("smallest group by everything published", "1"),
        ("records unique by all unchanged columns", "200"),
    ):
        assert lines[element][0] == value
        assert goods.execute(lines[element][1]).fetchall() == [(int(value),)]


@pytest.mark.not_everyday
def test_cli_states_uniqueness_by_unchanged_columns(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,income\n" + "".join(f"{20 + i % 5},{1000 + i}\n" for i in range(100)))
    outcome = CliRunner().invoke(
        main,
        ["anonymize", str(path), "-k", "10", "--qi", "age", "--sensitive", "income", "-o", str(tmp_path / "o.csv")],
    )
    assert outcome.exit_code == 0, outcome.output
    assert "100 of these records are unique by" in outcome.output


def test_hint_without_policy_names_quasi_identifier_or_none(con: Any) -> None:
    con.execute(
        'CREATE TABLE t AS SELECT i AS "Patienten Nr", \'x\' AS "Geburtsname", i AS "Alter" FROM range(30) r(i)'
    )
    with pytest.raises(duckdb.Error) as error_info:
        con.execute("FROM kacpc('t', k=5)")
    assert "'Alter', 'quasi'" in str(error_info.value) and "Patienten" not in str(error_info.value)
    con.execute('CREATE TABLE u AS SELECT i AS "Patienten Nr" FROM range(30) r(i)')
    with pytest.raises(duckdb.Error) as error_info:
        con.execute("FROM kacpc('u', k=5)")
    assert "Patienten" not in str(error_info.value)

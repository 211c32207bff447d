"""An uninformative release is reported: a metric per column, a warning, and a sentence on the command line."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.views import warnings as views_warnings


def metric_values(con: Any, call: str) -> dict[str, float]:
    """Return the metrics of uninformative columns."""
    rows = con.execute(f"SELECT metric, value FROM {call}").fetchall()
    return {name: value for name, value in rows if name.startswith("fully_generalized:") or name == "is_single_class"}


def test_share_of_uninformative_records_per_column(con: Any) -> None:
    """Rows of one sex are published unchanged or as *.

    With a hierarchy also the node above all of its leaves counts; [1, 2] and [8, 9] are less than all.
    """
    con.execute("CREATE TABLE t (age INTEGER, sex VARCHAR, city VARCHAR)")
    con.execute("INSERT INTO t VALUES (1, 'F', 'a'), (2, 'M', 'b'), (8, 'F', 'a'), (9, 'F', 'a'), (9, NULL, 'b')")
    lines = [["a", "all", "*"], ["b", "all", "*"]]
    dbanon.load_hierarchy(con, "cities", lines)
    message = metric_values(
        con, "mondrian_metrics('t', k=2, qi=['age', 'sex', 'city'], hierarchies := {'city': 'cities'})"
    )
    assert message == {
        "fully_generalized:age": 0,
        "fully_generalized:sex": 1,
        "fully_generalized:city": 1,
        "is_single_class": 0,
    }
    con.execute("UPDATE t SET sex = 'F', city = 'a'")
    message = metric_values(
        con, "mondrian_metrics('t', k=5, qi=['age', 'sex', 'city'], hierarchies := {'city': 'cities'})"
    )
    assert list(message.values()) == [1, 0, 0, 1], "what is alike in all records is published as it is"


def test_single_class_release_warns_without_error(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT 20 + i AS age, ['Flu', 'HIV'][1 + (i < 7)::INTEGER] AS disease "
        "FROM range(20) AS r (i)"
    )
    call = "('t', k := 2, qi := ['age'], sensitive := ['disease'], t := 0.01)"
    assert con.execute(f"SELECT count(*), count(DISTINCT class_id) FROM kacpc{call}").fetchall() == [(20, 1)]
    assert metric_values(con, f"kacpc_metrics{call}") == {"fully_generalized:age": 1, "is_single_class": 1}
    parameters: dict[str, Any] = {"k": 2, "qi": ["age"], "sensitive": ["disease"], "t": 0.01}
    with pytest.warns(dbanon.UtilityWarning, match="safe: all 20 records are in one class") as caught:
        release = dbanon.create_release(con, "safe", "kacpc", "t", **parameters)
    assert release.classes == 1
    assert caught[0].filename == __file__
    with pytest.warns(dbanon.UtilityWarning, match="which publishes only the whole range or"):
        dbanon.anonymize(con.sql("FROM t").df(), "kacpc", **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dbanon.anonymize(con.sql("FROM t").df(), "kacpc", **{**parameters, "t": 0.9})


PEOPLE = [f"{20 + i % 25},{'MF'[i % 2]},{i} Main Street" for i in range(50)]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["age,sex,street", *PEOPLE]))
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_cli_names_uninformative_columns(people: Path) -> None:
    output = people.with_name("out.parquet")
    done = run("anonymize", people, "-o", output, "-k", 5, "--qi", "age", "--qi", "street")
    assert done.exit_code == 0, done.output
    line = next(line for line in done.output.splitlines() if line.startswith("Published as *"))
    assert "street (100 %)" in line and "a better hierarchy" in line
    done = run("anonymize", people, "-o", output, "--replace", "-k", 5, "--qi", "sex")
    assert "Published as *" not in done.output
    done = run("anonymize", people, "-o", output, "--replace", "-k", 40, "--qi", "age", "--qi", "street", "--json")
    assert "all 50 records are in one class, which publishes only the whole range or * of age and street" in done.output
    assert "Published as *" not in done.output
    assert json.loads(done.stdout.splitlines()[-1])["metrics"]["is_single_class"] == 1


def test_share_below_100_percent_never_shown_as_all() -> None:
    assert (
        "age (99 %)"
        in views_warnings.describe_generalized({"fully_generalized:age": 0.9999, "is_single_class": 0.0})[0]
    )
    assert views_warnings.describe_generalized({"fully_generalized:age": 0.5, "is_single_class": 0.0}) == []

"""Square errors where a value far below all others is suppressed."""

from __future__ import annotations

from typing import Any

import pytest

FAR = {
    "DOUBLE": "-1e300",
    "FLOAT": "-1e38",
    "BIGINT": "-9223372036854775807",
    "HUGEINT": "-170141183460469231731687303715884105727",
    "DECIMAL(38, 2)": "-999999999999999999999999999999999999.99",
    "TIMESTAMP": "TIMESTAMP '290000-01-01 (BC) 00:00:00'",
}
MEASURES = ("square_error", "square_error_clusters", "sse_share", "precision", "suppressed")


@pytest.mark.parametrize("kind", FAR)
@pytest.mark.parametrize("name", ["datafly", "samarati"])
def test_square_errors_ignore_suppressed_far_value(con: Any, name: str, kind: str) -> None:
    """They equal those of the table without it, and compare() states the same."""
    near = "range * INTERVAL '1 s' + TIMESTAMP '2020-01-01'" if kind == "TIMESTAMP" else f"(range * 2)::{kind}"
    con.execute(f"CREATE TABLE far AS SELECT ({near})::{kind} AS a, 'x' AS b FROM range(11)")
    con.execute("CREATE TABLE near AS FROM far")
    con.execute(f"INSERT INTO far VALUES (({FAR[kind]})::{kind}, 'odd')")
    call = "k := 11, qi := ['a', 'b']"
    far = dict(con.execute(f"SELECT metric, value FROM {name}_metrics('far', {call}, suppress := 0.1)").fetchall())
    near_metrics = dict(con.execute(f"SELECT metric, value FROM {name}_metrics('near', {call})").fetchall())
    assert far["suppressed"] == 1
    assert far["square_error"] == pytest.approx(1.1)
    for metric in ("square_error", "square_error_raw:a", "sse_share"):
        assert far[metric] == pytest.approx(near_metrics[metric])
    compared = con.execute(f"""SELECT metric, mean FROM compare('far', k := [11], algorithms := ['{name}'],
        metrics := {list(MEASURES)}, qi := ['a', 'b'], suppress := 0.1)""").fetchall()
    far["suppressed"] = far["suppressed"]
    assert dict(compared) == pytest.approx({metric: far[metric] for metric in MEASURES}, abs=1e-9)


def test_sse_share_of_huge_values_is_finite(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT CASE WHEN range = 0 THEN -1e300 ELSE range END AS a FROM range(6)")
    rows = con.execute("""SELECT mean FROM compare('t', k := [3], algorithms := ['kacpc'], qi := ['a'],
        metrics := ['sse_share'])""").fetchall()
    assert 0 < rows[0][0] <= 100

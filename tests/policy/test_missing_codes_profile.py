"""top and bottom in addition to a grid: published cells of a class beyond or across them."""

from __future__ import annotations

from typing import Any

import pytest

AGES = (3, 5, 7, 12, 14, 16, 88, 93, 96, 99, 101, 104)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("bottom := {'age': 10}", ["<=10", "[<=10, 19]", "[80, 99]", "[90, 109]"]),
        ("top := {'age': 95}", ["[0, 9]", "[10, 19]", "[80, >=95]", ">=95"]),
        ("bottom := {'age': 10}, top := {'age': 95}", ["<=10", "[<=10, 19]", "[80, >=95]", ">=95"]),
    ],
)
def test_class_beyond_top_or_bottom_publishes_bound(con: Any, settings: str, expected: list[str]) -> None:
    """3, 5 and 7 are <=10, though the cell of 10 on the grid reaches 19; 99, 101 and 104 are >=95."""
    con.execute(f"CREATE TABLE people AS SELECT unnest({list(AGES)}) AS age")
    call = f"kacpc('people', k := 3, qi := ['age'], rounding := {{'age': 10}}, {settings})"
    rows = con.execute(f"SELECT age, class_id FROM {call} GROUP BY ALL ORDER BY class_id").fetchall()
    assert [age for age, _ in rows] == expected
    read = con.execute(
        "SELECT lower_bound('<=10') IS NULL, upper_bound('<=10'), covers('<=10', '3'), covers('<=10', '11'), "
        "lower_bound('>=95'), upper_bound('>=95') IS NULL, covers('>=95', '104'), covers('>=95', '93')"
    ).fetchall()
    assert read == [(True, 10, True, False, 95, True, True, False)]


def test_bottom_date_covers_every_time_of_its_day(con: Any) -> None:
    con.execute(
        "CREATE TABLE stays AS SELECT TIMESTAMP '2000-03-15 15:00' AS begun FROM range(3) "
        "UNION ALL SELECT TIMESTAMP '2000-05-02 08:00' FROM range(3)"
    )
    rows = con.execute(
        "SELECT DISTINCT begun, class_id FROM kacpc('stays', k := 3, qi := ['begun'], rounding := {'begun': 'month'}, "
        "bottom := {'begun': '2000-03-15'}) ORDER BY class_id"
    ).fetchall()
    assert [interval for interval, _ in rows] == ["<=2000-03-15", "2000-05"]

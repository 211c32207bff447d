"""How many sets of records two versions differ by: towards the version before, and towards all versions."""

from __future__ import annotations

import pytest

import dbanon
from dbanon import errors


def test_sets_towards_the_version_before_are_counted_first() -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, disease VARCHAR)")
        rows = [[i, 20 + i, "Flu" if i % 2 else "HIV"] for i in range(27)]
        con.executemany("INSERT INTO patients VALUES (?, ?, ?)", rows)
        dbanon.declare(con, "patients", pid="identifier", age="quasi", disease="sensitive")
        dbanon.materialize(con, "safe", "kacpc", "patients", k=5)
        con.execute(
            "DELETE FROM patients WHERE pid = (SELECT min(person_key::INTEGER) FROM dbanon.membership WHERE class_id = "
            "(SELECT class_id FROM safe GROUP BY ALL HAVING count(*) > 5 ORDER BY ALL LIMIT 1))"
        )
        with pytest.raises(errors.DeltaRefused, match="refresh: 1 sets of records"):
            dbanon.refresh(con, "safe", refresh="recluster")
        with pytest.warns(dbanon.DisclosureWarning):
            dbanon.refresh(con, "safe", refresh="recluster", allow_delta=True)
        counted = con.execute("SELECT version, delta_classes FROM releases() ORDER BY ALL").fetchall()
        assert counted == [(1, 0), (2, 3)]

"""Labels of PostgreSQL Anonymizer propose roles, and never that a column is published unchanged."""

from __future__ import annotations

from typing import Any

import pytest
from support import postgres

import dbanon
from dbanon.policy.profiling import postgres_labels


@pytest.mark.all_cases
@pytest.mark.parametrize(
    ("provider", "label", "role"),
    [
        ("anon", "MASKED WITH FUNCTION anon.fake_last_name()", "identifier"),
        ("anon", "masked  with\nfunction pg_catalog.md5(name)", "identifier"),
        ("anon", "MASKED WITH FUNCTION anon.partial(phone, 2, $$******$$, 2)", "identifier"),
        ("anon", "MASKED WITH VALUE NULL", "identifier"),
        ("anon", "MASKED WITH VALUE $$CONFIDENTIAL$$", "identifier"),
        ("anon", "MASKED WITH VALUE 'anon.generalize_int4range(age, 10)'", "identifier"),
        ("anon", "MASKED WITH FUNCTION anon.generalize_int4range(age, 10)", "quasi"),
        ("anon", "MASKED WITH FUNCTION anon.generalize_daterange(birth, 'decade')", "quasi"),
        ("anon", 'MASKED WITH FUNCTION "anon"."generalize_daterange"(birth)', "quasi"),
        ("anon", "MASKED WITH FUNCTION mine.generalize_int4range(age)", "identifier"),
        ("anon", "MASKED WITH FUNCTION anon.noise(salary, 0.1)", "identifier"),
        ("k_anonymity", "QUASI IDENTIFIER", "quasi"),
        ("k_anonymity", "indirect identifier", "quasi"),
        ("anon", "QUASI IDENTIFIER", None),
        ("k_anonymity", "DIRECT IDENTIFIER", None),
        ("anon", "NOT MASKED", None),
        ("anon", "", None),
        ("selinux", "unconfined", None),
    ],
)
def test_postgres_label_maps_to_role_or_none(provider: str, label: str, role: str | None) -> None:
    assert postgres_labels.role_from_label(provider, label) == role


def test_postgres_labels_become_policy_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extension that uses such labels is not installed, so the catalog's content is simulated.

    The query of the catalog itself runs, and finds no labels.
    """
    with postgres.running_postgres() as server, dbanon.connect() as con:
        dbanon.load_extension(con, "postgres")
        con.execute(f"ATTACH '{server.conninfo()}' AS pg (TYPE postgres)")
        con.execute("CALL postgres_execute('pg', 'CREATE TABLE people (name text, birth date, zip text, ward text)')")
        assert rows(con, "FROM policy_from_labels('pg.public.people')") == []
        security_labels = postgres_labels.postgres.security_labels

        def planted_labels(cursor: Any, place: tuple[str, str, str]) -> list[tuple[str, str, str]]:
            return [
                *security_labels(cursor, place),
                ("name", "anon", "MASKED WITH FUNCTION anon.fake_last_name()"),
                ("birth", "k_anonymity", "QUASI IDENTIFIER"),
                ("zip", "k_anonymity", "QUASI IDENTIFIER"),
                ("zip", "anon", "MASKED WITH VALUE NULL"),
                ("ward", "anon", "NOT MASKED"),
            ]

        monkeypatch.setattr(postgres_labels.postgres, "security_labels", planted_labels)
        con.execute("INSERT INTO dbanon.policy BY NAME FROM policy_from_labels('pg.people')")
        con.execute("INSERT INTO dbanon.foreign_database FROM attached_databases()")
        assert rows(con, "SELECT table_name, column_name, role FROM dbanon.policy ORDER BY ALL") == [
            ("pg.public.people", "birth", "quasi"),
            ("pg.public.people", "name", "identifier"),
            ("pg.public.people", "zip", "identifier"),
        ]
        con.execute("CALL postgres_execute('pg', 'INSERT INTO people SELECT ''a'', ''1970-01-01'', ''b'', ''c'' "
                    "FROM generate_series(1, 20)')")  # fmt: skip
        assert [c[0] for c in con.execute("FROM kacpc('pg.people', k=5)").description] == ["birth", "class_id"]


def rows(con: Any, query: str) -> list[Any]:
    actual_rows: list[Any] = con.execute(query).fetchall()
    return actual_rows

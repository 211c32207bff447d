"""Readers cannot read anything that certificates omit: unpublished names, codes, labels and keys of a policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.serving import Client, DbanonServer, needs_quack, serving

import dbanon
from dbanon.integrations.quack import published_copy, tokens
from dbanon.ledger import permissions
from dbanon.ledger.permissions import Permission, ReleaseRequest

pytestmark = [pytest.mark.all_cases, pytest.mark.filterwarnings("ignore::dbanon.errors.warnings.DisclosureWarning")]

CANARY = "canary"
"""Part of every text that no reader may see."""
PRIVATE: dict[str, Any] = {
    "withhold": ["canary_withheld"],
    "missing_codes": {"disease": ["CANARY_CODE"]},
    "identifier": ["canary_identifier"],
    "hierarchies": {"job": "canary_hierarchy"},
    "top": {"age": 88},
    "seed": 4711,
    "exempt": {"disease": ["canary_exempt"]},
}
"""Parameters that name secrets of the custodian; the calls need not be possible."""


def create_canary_clinic(path: Path) -> Path:
    """Create a database with one release and two permissions; all unpublished names contain "canary"."""
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE patients AS SELECT i AS canary_person, 'canary_name_' || i AS canary_identifier, "
            "'canary_value' AS canary_withheld, 'canary_free' AS canary_undeclared, (20 + (i * 7) % 50) AS age, "
            "['carpenter', 'painter', 'nurse', 'doctor'][1 + i % 4] AS job, "
            "CASE WHEN i % 20 = 19 THEN 'CANARY_CODE' ELSE ['flu', 'cold'][1 + i % 2] END AS disease "
            "FROM range(120) AS r (i)"
        )
        con.execute("COMMENT ON TABLE patients IS 'canary_comment'; COMMENT ON COLUMN patients.age IS 'canary_comment'")
        dbanon.load_hierarchy(
            con,
            "canary_hierarchy",
            [
                ["carpenter", "manual", "*"],
                ["painter", "manual", "*"],
                ["nurse", "care", "*"],
                ["doctor", "care", "*"],
                ["canary_job", "canary_trade", "*"],
            ],
        )
        con.execute(
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('patients', 'canary_person', 'person'), "
            "('patients', 'canary_identifier', 'identifier'), ('patients', 'age', 'quasi'), "
            "('patients', 'job', 'quasi'), ('patients', 'disease', 'sensitive')"
        )
        con.execute("UPDATE dbanon.policy SET hierarchy = 'canary_hierarchy' WHERE column_name = 'job'")
        con.execute(
            "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM mondrian('patients', k=5, l=2, "
            "missing_codes=MAP {'disease': ['CANARY_CODE']})"
        )
        con.execute("COMMENT ON TABLE safe IS 'canary_comment'")
        for reader in ("*", "alice"):
            con.execute(
                "INSERT INTO dbanon.permission (source, algorithms, k, parameters, reader) "
                "VALUES ('patients', ['mondrian', 'kacpc'], 5, ?, ?)",
                [json.dumps({"l": 2, **PRIVATE}), reader],
            )
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DbanonServer]:
    needs_quack()
    database = create_canary_clinic(tmp_path_factory.mktemp("canaries") / "clinic.duckdb")
    tokens.add_token(tokens.token_file(database), "bob", "custodian")
    with serving(database, "reader") as server:
        yield server


STATEMENTS = """
FROM permissions()
DESCRIBE FROM permissions()
SUMMARIZE FROM permissions()
SELECT * FROM permissions() AS p (a, b, c, d) WHERE d LIKE '%l%'
FROM releases()
FROM certificate('safe')
FROM safe
FROM safe_classes
FROM safe_metrics
FROM safe_certificate
DESCRIBE safe
SUMMARIZE safe
SELECT DISTINCT job, disease FROM safe
FROM mondrian('patients', k=5)
FROM mondrian('patients', k=5, l=2)
FROM kacpc('patients', k=7)
FROM mondrian('patients', k=2)
FROM mondrian('patients', k=5, withhold='x')
FROM mondrian('patients', k=5, missing_codes='x')
FROM mondrian('nothing', k=5)
FROM best('patients', k=5)
FROM mondrian('patients', k='x')
FROM dbanon.permitted
FROM dbanon.release_request
FROM dbanon.served
FROM dbanon.permitted_to('canary_reader')
FROM duckdb_tables
FROM duckdb_comments()
FROM pg_description
SELECT nope FROM safe
SELECT canary FROM safe
SELECT age::patients FROM safe
SELECT midpoint(nope) FROM safe_certificate
SELECT job::INTEGER FROM safe
SELECT catalog_name, schema_name\\nFROM information_schema.schemata\\nWHERE catalog_name NOT IN ('system', 'temp')
FROM certificate('nothing')
""".strip().split("\n")


def test_reader_answers_contain_no_canary(server: DbanonServer) -> None:
    client = Client(server)
    for statement in (*STATEMENTS, *_attach_queries()):
        try:
            answer = json.dumps([[str(c) for c in row] for row in client.rows(statement)])
        except Exception as error:  # the message of a refusal that the reader sees
            answer = str(error).split("\n\nLINE ")[0]
        own_count = statement.count(CANARY)  # a name that the reader wrote himself may be repeated
        assert answer.lower().count(CANARY) <= own_count, (statement, answer)


def _attach_queries() -> list[str]:
    """Return the SQL that ATTACH sends, word for word."""
    from dbanon.integrations.quack.reader_process import CATALOG_QUERIES

    return list(CATALOG_QUERIES)


def test_permissions_function_lists_bounds_only(server: DbanonServer) -> None:
    shown_rows = [("patients", ["mondrian", "kacpc"], 5, '{"l": 2}')]
    assert Client(server).rows("FROM permissions()") == shown_rows
    described_rows = Client(server).rows("SELECT column_name, column_type FROM (DESCRIBE FROM permissions())")
    assert described_rows == [
        ("source", "VARCHAR"),
        ("algorithms", "VARCHAR[]"),
        ("k", "INTEGER"),
        ("parameters", "VARCHAR"),
    ]


def test_served_copy_contains_no_canary(server: DbanonServer) -> None:
    copies = published_copy.current_copy(published_copy.copy_folder(server.database))
    assert copies is not None and copies.omitted == ()
    content = copies.path.read_bytes().lower()
    assert CANARY.encode() not in content


def test_redacted_permissions_match_same_requests() -> None:
    mine = Permission("patients", ("kacpc",), 5, {"l": 2, **PRIVATE})
    plain_permission, other = Permission("patients", ("best",), 5), Permission("visits", ("kacpc",), 5, {"seed": 1})
    listed_values = [mine, plain_permission, other]
    calls = [("kacpc", "patients", {"k": 7}), ("best", "patients", {"k": 5, "l": 3}), ("kacpc", "visits", {})]
    askings = [permissions.find_permission(listed_values, "alice", *call)[1] for call in calls]
    forgotten = ReleaseRequest.from_call("kacpc", "patients", {"k": 7, "l": 2, "withhold": ["canary_other"]})
    redacted, result = permissions.redact_private(listed_values, [*askings, forgotten])
    assert [permissions.find_permission(redacted, "alice", *call)[1] for call in calls] == result[:3]
    assert len(set(result)) == 4
    assert CANARY not in repr((redacted, result)).lower() and "seed" not in repr((redacted, result))
    assert [p.description for p in redacted] == [p.description for p in listed_values]
    assert [a.description for a in result[:3]] == [a.description for a in askings]

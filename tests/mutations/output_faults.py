"""Faults in output written after the release gate: tables, files and the check of written output."""

from __future__ import annotations

from .fault import Fault

_READ_BACK = "tests/publishing/test_read_back.py"

OUTPUT_FAULTS: dict[str, Fault] = {
    "seal: the rows are not hashed": Fault(
        "dbanon/ledger/hashes.py",
        "for ending, current_hash in hash_tables(cursor, entry, list(stored_hashes)).items()",
        "for ending, current_hash in stored_hashes.items()",
        ("tests/ledger/test_seal.py",),
    ),
    "materialized: metrics for the custodian are published": Fault(
        "dbanon/views/build_version.py",
        "[row[:4] for row in rows if row[4]]",
        "[row[:4] for row in rows]",
        ("tests/views/test_materialized.py",),
    ),
    "publish: problems are not looked up": Fault(
        "dbanon/publishing/release_files.py",
        "for problem in certificate.problems():",
        "for problem in ():",
        ("tests/publishing/test_publish.py", "tests/ledger/test_seal.py"),
    ),
    "read back: a file is not compared with the ledger": Fault(
        "dbanon/publishing/read_back.py", "if written_hash == expected:", "if written_hash:", (_READ_BACK,)
    ),
    "read back: the lines of a certificate are not compared": Fault(
        "dbanon/publishing/read_back.py", "None if rows == expected else", "None if rows else", (_READ_BACK,)
    ),
    "read back: differences do not raise": Fault(
        "dbanon/publishing/read_back.py", "if difference is not None:", "if difference == '':", (_READ_BACK,)
    ),
    "written tables: the order of rows is not checked": Fault(
        "dbanon/publishing/written_tables.py", "if misplaced:", "if misplaced is None:", (_READ_BACK,)
    ),
    "written tables: published values are not compared": Fault(
        "dbanon/publishing/written_tables.py", "if other_classes:", "if other_classes is None:", (_READ_BACK,)
    ),
    "written tables: metrics for the custodian stay": Fault(
        "dbanon/publishing/written_tables.py", "if not metrics.is_published(name, leaves)", "if not name", (_READ_BACK,)
    ),
    "csv: cells are not escaped": Fault(
        "dbanon/publishing/written_columns.py",
        "if name not in self._texts():",
        "if name:",
        ("tests/publishing/test_csv_files.py",),
    ),
    "csv: a text that begins with an apostrophe is not escaped": Fault(
        "dbanon/runtime/csv_formulas.py",
        "return f\"'*[{ranges}]",
        'return f"[{ranges}]',
        ("tests/runtime/test_csv_formulas.py",),
    ),
    "linked: single rows of fewer than k persons may have NULL pseudonyms": Fault(
        "sql/gate/linked_rows.sql",
        "GROUP BY single_in HAVING count(DISTINCT person) >= {{ k }}",
        "GROUP BY single_in HAVING count(DISTINCT person) > 0",
        ("tests/policy/transforms/test_linked.py",),
    ),
}

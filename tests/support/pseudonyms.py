"""Helpers for tests of pseudonyms: a key, a table of patients, and a check of refused queries."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

SECRET = hashlib.sha256(b"a key for tests").hexdigest()

PATIENTS = """
    CREATE OR REPLACE TABLE patients AS SELECT
        1000 + i AS patient, 20 + i % 7 AS age, ['F', 'M'][1 + i % 2] AS sex,
        ['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease,
        '555-00' || i % 3 AS phone, DATE '2020-01-01' + (i % 50)::INTEGER AS seen
    FROM range(300) AS r (i)
"""


def assert_refused(con: Any, query: str, match: str) -> None:
    """Assert that the query fails with a message that contains no cell of the source and nothing of the key."""
    with pytest.raises(Exception, match=match) as caught:
        con.sql(query).fetchall()
    assert SECRET not in str(caught.value) and "555-00" not in str(caught.value)

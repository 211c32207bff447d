"""No error of a dbanon function quotes a cell of the source, including errors that DuckDB raises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main

SECRET = "hiv-positive"


@pytest.fixture(scope="module")
def con() -> Any:
    with dbanon.connect() as connection:
        connection.execute(
            f"CREATE TABLE raw AS SELECT 20 + i AS age, IF(i = 7, '{SECRET}', i::VARCHAR) AS code FROM range(10) r(i)"
        )
        connection.execute("CREATE VIEW typed AS SELECT age, code::INTEGER AS code FROM raw")
        connection.execute("CREATE VIEW dated AS SELECT age, strptime(code, '%Y') AS code FROM raw")
        connection.execute("CREATE VIEW parsed AS SELECT age, (code::JSON ->> '$')::VARCHAR AS code FROM raw")
        yield connection


@pytest.mark.parametrize("view", ["typed", "dated", "parsed"])
@pytest.mark.parametrize(
    "call", ["kacpc('{}', k = 2, qi = ['age'], sensitive = ['code'])", "kacpc_metrics('{}', k = 2, qi = ['code'])"]
)
def test_unconvertible_view_value_not_quoted_in_error(con: Any, view: str, call: str) -> None:
    with pytest.raises(errors.UnreadableValueError, match=f"a value of {view}") as caught:
        con.execute(f"FROM {call.format(view)}").fetchall()
    assert SECRET not in str(caught.value)


VALUE_EXPRESSIONS = {
    "as a time zone": "TIMESTAMP '2020-01-01 00:00:00' AT TIME ZONE IF(code = '({secret}', code, 'UTC')",
    "as a regular expression": "regexp_matches('a', code)",
    "as a format": "format(IF(code = 'a', code, '{{' || regexp_extract(code, '[a-z]+') || '}}'), 1)",
    "as a code point": "chr(IF(code = '({secret}', 77654321, 65))",
}


@pytest.mark.parametrize("use", VALUE_EXPRESSIONS)
def test_value_used_as_argument_not_quoted_in_error(con: Any, use: str) -> None:
    expression = VALUE_EXPRESSIONS[use].format(secret=SECRET)
    con.execute(f"""CREATE OR REPLACE VIEW used AS SELECT age, {expression} AS code
        FROM (SELECT age, IF(code = '{SECRET}', '({SECRET}', 'a') AS code FROM raw)""")
    with pytest.raises(Exception, match=r"hiv|77654321"):
        con.raw.execute("SELECT code FROM used").fetchall()
    with pytest.raises(errors.UnreadableValueError, match="a value of used") as caught:
        con.execute("FROM kacpc('used', k = 2, qi = ['age'], sensitive = ['code'])").fetchall()
    assert not re.search("hiv|77654321", str(caught.value))


def test_unconvertible_value_of_batch_not_quoted_in_error() -> None:
    batches = [pa.table({"age": [21, 22, 23, 24]}), pa.table({"age": ["25", SECRET]})]
    released_tables = []
    with pytest.raises(errors.UnreadableValueError, match="a value of the batch") as caught:
        released_tables.extend(dbanon.anonymize_stream(batches, "fads", k=2, delta=3, qi=["age"]))
    assert SECRET not in str(caught.value)
    assert sum(len(table) for table in released_tables) == 4


def test_invalid_file_line_not_quoted_in_error(con: Any, tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("age,code\n" + "".join(f"{i},{i}\n" for i in range(25_000)) + f"{SECRET},1,2\n")
    with pytest.raises(errors.UnreadableValueError, match="CSV Error on Line: 25002") as caught:
        con.execute(f"FROM kacpc('{file}', k = 2, qi = ['age'])").fetchall()
    assert SECRET not in str(caught.value)
    done = CliRunner().invoke(main, ["anonymize", str(file), "-k", "2", "--qi", "age", "-o", str(tmp_path / "out.csv")])
    assert done.exit_code != 0
    assert "1 line (25,002) cannot be read" in done.output
    assert SECRET not in done.output


def test_failing_release_does_not_quote_value(con: Any) -> None:
    with pytest.raises(errors.UnreadableValueError) as caught:
        dbanon.create_release(con.raw, "safe", "kacpc", "typed", k=2, qi=["age"], sensitive=["code"])
    assert SECRET not in str(caught.value)


def test_foreign_statements_keep_duckdb_message(con: Any) -> None:
    with pytest.raises(Exception, match=SECRET):
        con.execute("FROM typed").fetchall()

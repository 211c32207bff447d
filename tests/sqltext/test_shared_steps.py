"""Steps that several statements have in common are computed once, with the same results."""

import duckdb

from dbanon.sqltext.shared_steps import share_steps

STEPS = """WITH RECURSIVE
-- One row per number.
numbers AS MATERIALIZED (SELECT unnest(range(1, 6)) AS n),
-- Read by one step only: no table.
squares AS MATERIALIZED (SELECT n, n * n AS square FROM numbers),
-- Not materialized: computed where it is read.
"odd numbers" AS (FROM numbers WHERE n % 2 = 1),
totals AS MATERIALIZED (SELECT sum(square) AS total FROM squares),
passed AS MATERIALIZED (SELECT total > 0 AS passed FROM totals)"""
STATEMENTS = (
    STEPS + '\nSELECT sum(n), (SELECT passed FROM passed) FROM "odd numbers"',
    STEPS + ", own AS (SELECT total + 1 AS total FROM totals)\nFROM own WHERE (SELECT passed FROM passed)",
)


def test_shared_steps_give_the_results_of_the_statements() -> None:
    """Each table is created once, a statement reads tables and its own steps, and unread tables are dropped."""
    shared = share_steps(STATEMENTS, "passed")
    assert shared is not None
    with duckdb.connect() as con:
        expected = [con.execute(statement).fetchall() for statement in STATEMENTS]
        for table in shared.tables:
            con.execute(f"CREATE TEMP TABLE {table.name} AS {table.query}")
            for expired in table.expired:
                con.execute(f"DROP TABLE {expired}")
        assert [con.execute(statement).fetchall() for statement in shared.statements] == expected
    names = ['temp.main."dbanon step 0.0"', 'temp.main."dbanon step 0.3"', 'temp.main."dbanon step 0.4"']
    assert [str(table.name) for table in shared.tables] == names
    assert "squares AS MATERIALIZED" in shared.tables[1].query and "unnest" not in shared.tables[1].query


def test_shared_steps_end_at_the_first_difference() -> None:
    """A step that differs between statements is not shared, nor is any after it; without the last step none is."""
    other = STATEMENTS[1].replace("n * n", "n + n")
    assert share_steps((STATEMENTS[0], other), "passed") is None
    shared = share_steps((STATEMENTS[0], other), "numbers")
    assert shared is not None and [str(table.name) for table in shared.tables] == ['temp.main."dbanon step 0.0"']


def test_expired_tables_are_read_by_nothing_later() -> None:
    """A table expires with the last step that reads it, also through a step that has no table."""
    statement = """WITH a AS MATERIALIZED (SELECT 1 AS x), b AS MATERIALIZED (SELECT x + 1 AS x FROM a),
        c AS MATERIALIZED (SELECT a.x + b.x AS x FROM a, b), d AS (FROM b), e AS MATERIALIZED (FROM d, c)"""
    statements = [f"{statement} SELECT {n} FROM e" for n in (1, 2)]
    shared = share_steps(statements, "e")
    assert shared is not None
    assert {str(table.name): [str(name) for name in table.expired] for table in shared.tables} == {
        'temp.main."dbanon step 0.0"': [],
        'temp.main."dbanon step 0.1"': [],
        'temp.main."dbanon step 0.4"': ['temp.main."dbanon step 0.0"', 'temp.main."dbanon step 0.1"'],
    }


def test_columns_named_like_a_later_step_are_no_references() -> None:
    """A column `gate` of a source is read by steps before the step `gate`."""
    steps = """WITH rows AS MATERIALIZED (SELECT unnest(range(3)) AS gate),
sums AS (SELECT sum(gate) AS gate FROM rows),
gate AS MATERIALIZED (SELECT gate > 0 AS passed FROM sums)"""
    shared = share_steps([f"{steps} FROM gate", f"{steps} SELECT gate FROM sums, gate"], "gate")
    assert shared is not None
    with duckdb.connect() as con:
        for table in shared.tables:
            con.execute(f"CREATE TEMP TABLE {table.name} AS {table.query}")
        assert con.execute(shared.statements[0]).fetchall() == [(True,)]

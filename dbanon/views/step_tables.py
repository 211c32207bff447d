"""Run the statements that make one version with their common steps computed once."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbanon.sqltext.quote import Sql
from dbanon.sqltext.shared_steps import SharedSteps, share_steps

_GATE = "gate"
"""The last step that the statements of a release have in common."""

_RECORD_HASHES = "record_hashes"
"""The last step that a release that keeps classes has in common with the search for small differences before it."""

_FIRST = 2
"""The number of the tables of these first steps: the others have 0 and 1."""

_SAME_STEPS = (("release", "membership"), ("classes", "metrics"))
"""The kinds of statements with the same steps if a release has many columns."""


@contextlib.contextmanager
def common_steps_computed(cursor: Any, statements: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Compute the common steps of the statements of a release in temporary tables; yield statements that read them.

    The source is read and clustered once, and all tables of the release are made of the rows that the gate checked. The
    temporary tables are dropped after the block, or by the rollback of the transaction.

    Args:
        cursor: A cursor within a transaction. No other connection can see its temporary tables.
        statements: The SQL of each kind: release, classes, metrics and, if it is stored, membership.
    """
    remaining: list[Sql] = []
    yield {
        kind: statement
        for kinds, shared in _shared_steps(statements)
        for kind, statement in zip(kinds, _create_tables(cursor, shared, remaining), strict=False)
    }
    for table in remaining:
        cursor.execute(f"DROP TABLE {table}")


@contextlib.contextmanager
def first_steps_computed(
    cursor: Any, query: str, statements: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Compute the first steps that a query has in common with statements of a release once; yield all of them.

    These steps read the source and hash its records. The temporary tables are dropped after the block, or by the
    rollback of the transaction. Without common steps the query and the statements are yielded unchanged.

    Args:
        cursor: A cursor within a transaction.
        query: The query that is executed before the statements.
        statements: The SQL of each kind, as in `common_steps_computed`.
    """
    shared = share_steps([query, *statements.values()], _RECORD_HASHES, _FIRST)
    if shared is None:
        yield query, dict(statements)
        return
    remaining: list[Sql] = []
    query, *others = _create_tables(cursor, shared, remaining)
    yield query, dict(zip(statements, others, strict=True))
    for table in remaining:
        cursor.execute(f"DROP TABLE {table}")


def _shared_steps(statements: Mapping[str, str]) -> Iterator[tuple[Sequence[str], SharedSteps]]:
    """Yield kinds of statements, and what they share: all of them if all have the same gate, otherwise in pairs."""
    shared = share_steps(list(statements.values()), _GATE)
    if shared is not None:
        yield list(statements), shared
        return
    for number, kinds in enumerate(_SAME_STEPS):
        pair = [statements[kind] for kind in kinds if kind in statements]
        yield kinds, (share_steps(pair, _GATE, number) if len(pair) > 1 else None) or SharedSteps((), tuple(pair))


def _create_tables(cursor: Any, shared: SharedSteps, remaining: list[Sql]) -> tuple[str, ...]:
    """Create the tables of shared steps, drop those that nothing reads any more, and return the statements.

    The names of the tables that are left are appended to `remaining`.
    """
    for table in shared.tables:
        cursor.execute(f"CREATE TEMP TABLE {table.name} AS {table.query}")
        remaining.append(table.name)
        for expired in table.expired:
            cursor.execute(f"DROP TABLE {expired}")
            remaining.remove(expired)
    return shared.statements

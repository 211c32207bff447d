"""Compute the steps that several statements have in common once, in tables that the statements read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbanon.sqltext.cte_steps import CteStep, StatementSteps, split_steps
from dbanon.sqltext.quote import Sql, identifier
from dbanon.sqltext.tokenizer import spaced_words

_MATERIALIZED = re.compile(r"\s+AS\s+MATERIALIZED\s+\(", re.IGNORECASE)


@dataclass(frozen=True)
class StepTable:
    """A table that holds the rows of a step.

    Attributes:
        name: Its name, quoted for SQL.
        query: The query for its rows. It may read tables that come before.
        expired: The tables that no later table and no statement reads.
    """

    name: Sql
    query: str
    expired: tuple[Sql, ...] = ()


@dataclass(frozen=True)
class SharedSteps:
    """Statements that read tables in place of the steps that they have in common.

    Attributes:
        tables: The tables, in the order in which they are to be created.
        statements: The statements, in the order in which they were given.
    """

    tables: tuple[StepTable, ...]
    statements: tuple[str, ...]


def share_steps(statements: Sequence[str], last_step: str, number: int = 0) -> SharedSteps | None:
    """Return statements that compute their common steps once; None if `last_step` is not among these.

    The common steps are those at the beginning of all statements with the same names and the same SQL. Steps that are
    materialized become tables, unless only one other step reads them; these and other steps are computed where they are
    read.

    Args:
        statements: SQL of `SELECT` statements with a WITH clause.
        last_step: The name of a step that must be among the common ones.
        number: A number that distinguishes the tables of these statements from others of the same connection.

    O(length of the statements * common steps).
    """
    split_statements = [split_steps(statement) for statement in statements]
    common = _common_steps(split_statements)
    if last_step not in [step.name for step in common]:
        return None
    names = {step.name: place for place, step in enumerate(common)}
    # A later name in a step is that of a column: a step reads only earlier steps.
    references = [{p for p in _references(step.sql, names) if p < place} for place, step in enumerate(common)]
    rests = [
        "\n".join([*(step.sql for step in split.relations[len(common) :]), split.result]) for split in split_statements
    ]
    rest_references = [_references(rest, names) for rest in rests]
    stored = {
        place
        for place, step in enumerate(common)
        if _MATERIALIZED.search(_head(step))
        and (
            any(place in places for places in rest_references)
            or sum(place in places for places in references[place + 1 :]) > 1
        )
    }
    steps = _CommonSteps(common, references, stored, number)
    return SharedSteps(
        tuple(steps.tables(set().union(*rest_references))),
        tuple(
            StatementSteps((*steps.definitions(places), *split.relations[len(common) :]), "").statement(split.result)
            for split, places in zip(split_statements, rest_references, strict=True)
        ),
    )


@dataclass(frozen=True)
class _CommonSteps:
    """The common steps of several statements.

    Attributes:
        steps: The steps, in their order.
        references: The places (indexes) of the steps that each of them reads.
        stored: The places of those that become tables.
        number: A number in the names of the tables.
    """

    steps: Sequence[CteStep]
    references: Sequence[set[int]]
    stored: set[int]
    number: int

    def tables(self, read_by_statements: set[int]) -> Iterator[StepTable]:
        """Yield the tables in their order; `read_by_statements` are the places of steps that statements read."""
        kept = self._needed(read_by_statements)
        last_readers = {
            other: place for place in sorted(self.stored) for other in self._needed(self.references[place]) - kept
        }
        for place in sorted(self.stored):
            step = self.steps[place]
            # The rows are read once, into the table.
            query = CteStep(step.name, "", _MATERIALIZED.sub(" AS (", step.sql, count=1))
            statement = StatementSteps((*self.definitions(self.references[place]), query), "")
            yield StepTable(
                self._table(place),
                statement.statement(f"FROM {identifier(step.name)}"),
                tuple(self._table(o) for o in sorted(self.stored) if last_readers.get(o) == place),
            )

    def definitions(self, places: set[int]) -> Iterator[CteStep]:
        """Yield definitions of the steps at `places`, and of those that they read; stored steps read their tables."""
        for place in sorted(self._needed(places)):
            step = self.steps[place]
            if place in self.stored:
                yield CteStep(step.name, "", f"{identifier(step.name)} AS (FROM {self._table(place)})")
            else:
                yield step

    def _needed(self, places: set[int]) -> set[int]:
        """Return `places`, and the steps that they read if they are not stored."""
        needed: set[int] = set()
        remaining = list(places)
        while remaining:
            place = remaining.pop()
            if place not in needed:
                needed.add(place)
                remaining += [] if place in self.stored else self.references[place]
        return needed

    def _table(self, place: int) -> Sql:
        """Return the name of the temporary table of a step, quoted for SQL."""
        return Sql(f"temp.main.{identifier(f'dbanon step {self.number}.{place}')}")


def _common_steps(split_statements: Sequence[StatementSteps]) -> tuple[CteStep, ...]:
    """Return the longest sequence of steps with which all statements begin."""
    first = split_statements[0].relations
    for place, steps in enumerate(zip(*(split.relations for split in split_statements), strict=False)):
        if len({(step.name, step.sql) for step in steps}) > 1:
            return first[:place]
    return first[: min(len(split.relations) for split in split_statements)]


def _references(sql: str, names: Mapping[str, int]) -> set[int]:
    """Return the places of the steps (`names`: place by name) whose names occur in SQL text, also as other names."""
    unquoted = {word[1:-1].replace('""', '"') if word.startswith('"') else word for _, word in spaced_words(sql)}
    return {place for name, place in names.items() if name in unquoted}


def _head(step: CteStep) -> str:
    """Return the SQL of a step up to its first bracket, without comments."""
    sql = "\n".join(line for line in step.sql.split("\n") if not line.lstrip().startswith("--"))
    return sql[: sql.index("(") + 1]

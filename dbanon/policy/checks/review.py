"""policy_review('table'): show what a release would publish, each finding with the statement that changes it.

The same review is shown before the first release of a name, with the final roles of its call
(dbanon/views/pre_release_review.py).
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dbanon.errors.example import Example
from dbanon.policy.attribute import DEFAULT_DATE_GRID
from dbanon.policy.checks import policy_problems
from dbanon.policy.hierarchies import lookup
from dbanon.policy.hierarchies.storage import StoredHierarchy
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.source.column_types import CALENDAR_FAMILIES, family, person_value
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, literal_rows, one_line, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call, TableFunction

TOPICS = ("unchanged", "transformed", "generalized", "withheld", "unique", "flat", "problem")
"""Topics of findings in their order; the first row of a review has the number of records and persons."""

DETAILED_TOPICS = ("unique", "flat", "problem")
"""Topics whose findings are shown one by one, with their statements."""

MAX_TRIVIAL_LEAVES = 3
"""Leaves directly below the root that do not make a hierarchy flat: no level could be between."""

ReviewRow = tuple[str, str | None, str, str | None]
"""Topic, column, finding and statement."""


@dataclass(frozen=True)
class ReviewedColumn:
    """A column as a release would publish it.

    Attributes:
        role: Its role in lower case; None if it has none.
        settings: Its settings of generalization.
        row: Its row of the policy; None if it is undeclared.
        alternative: A text that is shown instead of a statement to withhold the column: parameters of the call, or
            options of a command, with `{}` for the column. Other statements are then not shown.
    """

    name: str
    type: str
    role: str | None
    settings: stored_policy.Settings
    row: stored_policy.PolicyRow | None = None
    alternative: str = ""

    @property
    def is_unchanged(self) -> bool:
        """Whether the column is published unchanged: its role is sensitive or insensitive."""
        return self.role in ("sensitive", "insensitive")


@dataclass(frozen=True)
class _PolicyTables:
    """A source, and the SQL names of its policy and hierarchy tables in statements.

    The names are without the database if it is the current one.
    """

    source: catalog.Source
    policy: Sql
    hierarchies: Sql

    @classmethod
    def for_source(cls, call: Call, source: catalog.Source) -> _PolicyTables:
        """Return the policy tables in the home database of a source."""
        parts = (catalog.SCHEMA,) if source.home == call.path.database else (source.home, catalog.SCHEMA)
        return cls(source, *(Sql(".".join([*map(_quote_schema, parts), name])) for name in ("policy", "hierarchy")))


def _quote_schema(name: str) -> str:
    """Return a name quoted as a SQL identifier; `dbanon`, the schema of the policy, is not quoted."""
    return name if name == catalog.SCHEMA else identifier(name)


def policy_review_sql(call: Call) -> Sql:
    """Return the SQL of policy_review(): what a release of a table would publish by its policy, by topic and column."""
    source = call.source()
    rows = {source.spelled(row.column): row for row in stored_policy.policy_rows(source, call.cursor)}
    columns = [
        ReviewedColumn(name, type_, row.role.lower(), row.settings, row)
        if (row := rows.get(name)) is not None
        else ReviewedColumn(name, type_, None, stored_policy.Settings())
        for name, type_ in source.columns.items()
    ]
    source = missing_codes.without_codes(source, rows.values(), call.holds)
    return review_sql(call, source, columns, policy_problems.policy_problems_sql(call, source))


def review_sql(
    call: Call, source: catalog.Source, columns: Sequence[ReviewedColumn], problems: Sql | None = None
) -> Sql:
    """Return SQL of the rows of a review: topic, column, finding and statement that changes it.

    Args:
        call: The call.
        source: The reviewed table.
        columns: Its columns as they would be published.
        problems: SQL of problem and statement of the errors in the policy; None to show none.
    """
    tables = _PolicyTables.for_source(call, source)
    literals = [
        row for position, column in enumerate(columns) for row in _static_findings(call, tables, position, column)
    ]
    types = dict.fromkeys(("topic", "column_name", "finding", "statement"), "VARCHAR")
    person_columns = stored_policy.person_columns(
        (c.name, c.role, dict(c.settings.settings)) for c in columns if c.role
    )
    person = next((person_value(identifier(c.name), c.type) for c in columns if [c.name] == person_columns), None)
    counted_columns = [
        {
            "place": position,
            "raw_name": c.name,
            "name": text(c.name),
            "shown": text(one_line(c.name)),
            "value": _comparable_value(c),
            "role": text(c.role or ""),
            "is_unchanged": c.is_unchanged,
            "statement": _text_or_null(_withhold_statement(tables, c)),
            "prefix": _text_or_null(_prefix_hierarchy_statement(tables, c)),
        }
        for position, c in enumerate(columns)
        if c.is_unchanged or (c.role == "quasi" and _is_category(c) and c.settings.hierarchy is None)
    ]
    return Sql(
        fill(
            "policy/checks/review.sql",
            source=source.rows,
            person=person,
            topics={topic: {"rank": rank, "name": text(topic)} for rank, topic in enumerate(TOPICS)},
            fixed=literal_rows({"rank": "INTEGER", "place": "INTEGER"} | types, literals),
            columns=counted_columns,
            unchanged=[c for c in counted_columns if c["is_unchanged"]],
            few=MAX_TRIVIAL_LEAVES,
            known=problems,
        )
    )


def _text_or_null(value: str | None) -> Sql:
    """Return a text as SQL; NULL for None."""
    return Sql("NULL") if value is None else text(value)


def _comparable_value(column: ReviewedColumn) -> Sql:
    """Return SQL of a column by which its distinct values are counted; texts are compared byte by byte."""
    name = identifier(column.name)
    return Sql(f"CAST({name} AS VARCHAR) COLLATE POSIX") if _is_category(column) else name


def _is_category(column: ReviewedColumn) -> bool:
    """Return whether the type of a column is no number, date or time, so that it is generalized along a hierarchy."""
    return family(column.type)[0] is None


def _static_findings(call: Call, tables: _PolicyTables, position: int, column: ReviewedColumn) -> list[list[object]]:
    """Return the findings about a column that need no values of the table.

    They are how it is transformed or generalized, that its hierarchy is flat (values directly below the root), or that
    it is withheld. [] for unchanged columns.

    Args:
        call: The call.
        tables: The names of the policy tables in statements.
        position: The position of the column in the table.
        column: The column.

    Returns:
        Rows (rank of the topic, position, topic, column, finding, statement or None).
    """
    if column.is_unchanged:
        return []
    findings: list[tuple[str, str, str | None]] = []
    if column.role in TRANSFORM_SETTINGS:
        findings.append(("transformed", _describe_transform(column), _withhold_statement(tables, column)))
    elif column.role != "quasi":
        findings.append(("withheld", column.role or "no role", _publish_statement(tables, column)))
    else:
        findings.append(("generalized", *_describe_generalization(tables, column)))
        name = column.settings.hierarchy
        n_flat, n_leaves = _count_flat_leaves(call, tables.source, name) if name is not None else (0, 0)
        if n_leaves > MAX_TRIVIAL_LEAVES and n_flat > 0:
            finding = (
                f"{n_flat:,} of {n_leaves:,} values of hierarchy {name} are directly below *: they are published "
                "unchanged or as *"
            )
            findings.append(("flat", finding, None))
    return [
        [TOPICS.index(topic), position, topic, column.name, finding, statement]
        for topic, finding, statement in findings
    ]


def _describe_transform(column: ReviewedColumn) -> str:
    """Return how a column is transformed: its role, and its settings except the reference of the key.

    For example, `mask, first 3` or `shift, days 30`.
    """
    settings = (f"{name} {value}" for name, value in sorted(column.settings.settings) if name != "key")
    return ", ".join([str(column.role), *settings])


def _describe_generalization(tables: _PolicyTables, column: ReviewedColumn) -> tuple[str, str | None]:
    """Return how a quasi-identifier is generalized, in words, and the SQL statement that would make it coarser.

    The statement updates the policy. It is None if there is no coarser setting to propose, if the column is not
    declared, or if the review proposes parameters or options instead of statements (`column.alternative`).
    """
    settings = column.settings
    kind = family(column.type)[0]
    ends = [f"{sign}{end}" for sign, end in (("<=", settings.bottom), (">=", settings.top)) if end is not None]
    if settings.hierarchy is not None or kind is None:
        parts = [f"hierarchy {settings.hierarchy}"] if settings.hierarchy else ["unchanged or *"]
        min_level = settings.min_level or 0
        parts += [f"from level {min_level}"] if min_level else []
        parts += [f"up to level {settings.max_level}"] if settings.max_level is not None else []
        coarser = _update_statement(tables, column, "min_level", min_level + 1) if settings.hierarchy else None
        return ", ".join(parts), coarser
    if kind in CALENDAR_FAMILIES:
        grid = str(settings.coarsen or settings.rounding or DEFAULT_DATE_GRID).lower()
        calendar = ("none", "day", "month", "quarter", "year", "decade", "century")
        next_unit = {"week": "month"} | dict(zip(calendar, (*calendar[1:], None), strict=True))
        coarser = next_unit.get(grid)
    else:
        grid = str(settings.coarsen or settings.rounding or "none").lower()
        coarser = "5" if grid == "none" and kind != "time" else None
    parts = ["ranges" if grid == "none" else f"ranges by {grid}", *ends]
    return ", ".join(parts), None if coarser is None else _update_statement(tables, column, "rounding", coarser)


def _count_flat_leaves(call: Call, source: catalog.Source, name: str) -> tuple[int, int]:
    """Return how many leaves of a hierarchy are directly below its root, and how many leaves it has.

    (0, 0) if there is no hierarchy with this name.
    """
    hierarchy = lookup.find_hierarchy(call, name, source, is_declared=True)
    if hierarchy is None:
        return 0, 0
    if not isinstance(hierarchy, StoredHierarchy):
        return sum(len(path) == 2 for path in hierarchy.paths), len(hierarchy.paths)
    table = qualified(hierarchy.database, catalog.SCHEMA, "hierarchy_node")
    n_flat, n_leaves = call.cursor.execute(
        f"SELECT system.main.count(*) FILTER (WHERE depth = 1), system.main.count(*) FROM {table} "
        f"WHERE name = {text(hierarchy.name)} AND is_leaf"
    ).fetchall()[0]
    return int(n_flat), int(n_leaves)


# --- what changes a finding ------------------------------------------------------------------------------


def _row_condition(row: stored_policy.PolicyRow) -> str:
    """Return the SQL condition that selects a policy row in dbanon.policy.

    It compares table, column and, unless it is main, schema.
    """
    pairs = {"table_name": row.table_name, "column_name": row.column}
    if row.schema_name != "main":
        pairs = {"schema_name": row.schema_name} | pairs
    return " AND ".join(f"{name} = {text(value)}" for name, value in pairs.items())


def _withhold_statement(tables: _PolicyTables, column: ReviewedColumn) -> str | None:
    """Return the statement that withholds a column by deleting its policy row; None if it is undeclared.

    If `column.alternative` is set, that text is returned instead, with the name of the column.
    """
    if column.alternative:
        return column.alternative.replace("{}", column.name)
    return f"DELETE FROM {tables.policy} WHERE {_row_condition(column.row)}" if column.row else None


def _publish_statement(tables: _PolicyTables, column: ReviewedColumn) -> str | None:
    """Return the statement that publishes an undeclared column in generalized form, as a quasi-identifier.

    None if it has a role or `column.alternative` is set.
    """
    if column.alternative or column.role is not None:
        return None
    key = join_sql(text(part) for part in (*stored_policy.policy_key(tables.source), column.name))
    return f"INSERT INTO {tables.policy} (schema_name, table_name, column_name, role) VALUES ({key}, 'quasi')"


def _update_statement(tables: _PolicyTables, column: ReviewedColumn, setting: str, value: str | int) -> str | None:
    """Return the SQL statement that changes a setting in the policy row of a column.

    None if the column is undeclared or `column.alternative` is set.

    Args:
        tables: It has the name of the policy table.
        column: The column.
        setting: The column of dbanon.policy, such as min_level.
        value: The new value.
    """
    if column.alternative or column.row is None:
        return None
    return f"UPDATE {tables.policy} SET {setting} = {literal(value)} WHERE {_row_condition(column.row)}"


def _prefix_hierarchy_statement(tables: _PolicyTables, column: ReviewedColumn) -> str | None:
    """Return two SQL statements: store a hierarchy of prefixes under the column's name, and declare it for the column.

    They are separated by a semicolon. None if the column is undeclared or `column.alternative` is set.
    """
    update = _update_statement(tables, column, "hierarchy", column.name)
    if update is None:
        return None
    arguments = ", ".join(text(part) for part in (column.name, tables.source.shown, column.name))
    return f"INSERT INTO {tables.hierarchies} FROM hierarchy_prefix({arguments}); {update}"


# --- as text ---------------------------------------------------------------------------------------------


def format_review(rows: Iterable[ReviewRow], title: str, width: int = 80, with_statements: bool = True) -> list[str]:
    """Return the review of a table's policy as lines of text: a title with the number of records, then the findings.

    The findings are in the order of TOPICS. The columns that are unchanged, transformed, generalized or withheld are
    one paragraph per topic; there is none for transformed columns if there are none. Each other finding is its own
    paragraph, with all columns that have it, followed by the statements that would resolve it, if any.

    Args:
        rows: The rows of the review.
        title: The title.
        width: Maximum length of a line; statements are not broken.
        with_statements: Whether statements are included.
    """
    review_rows = list(rows)
    summary = next((finding for topic, _, finding, _ in review_rows if topic == "source"), "")
    lines = [one_line(f"{title}: {summary}")]
    by_topic = {topic: list(group) for topic, group in groupby(review_rows, key=lambda row: row[0])}
    for topic in TOPICS:
        topic_rows = by_topic.get(topic, [])
        if topic == "transformed" and not topic_rows:
            continue
        if topic not in DETAILED_TOPICS:
            findings = "; ".join(one_line(f"{column} ({finding})") for _, column, finding, _ in topic_rows)
            lines += _wrap(topic, findings or "nothing", width)
            continue
        rows_by_finding: dict[str, list[ReviewRow]] = defaultdict(list)
        for row in topic_rows:
            rows_by_finding[row[2]].append(row)
        for finding, rows_of_finding in rows_by_finding.items():
            columns = ", ".join(column for _, column, _, _ in rows_of_finding if column is not None)
            prefix = f"{columns}: " if columns and topic == "flat" else ""
            lines += _wrap(topic, one_line(prefix + finding), width)
            statements = (statement for _, _, _, statement in rows_of_finding if statement is not None)
            lines += [f"    {one_line(statement)}" for statement in statements if with_statements]
    return lines


def _wrap(topic: str, finding: str, width: int) -> list[str]:
    """Return a finding as lines of at most `width` characters; the first begins with the topic.

    Further lines are indented.
    """
    return textwrap.wrap(
        finding, width, initial_indent=f"  {topic:<12}", subsequent_indent=" " * 14, break_on_hyphens=False
    )


def review_objects(rows: Iterable[ReviewRow]) -> list[Mapping[str, str | None]]:
    """Return the rows of a review as dicts for JSON: topic, column_name, finding and statement."""
    return [dict(zip(("topic", "column_name", "finding", "statement"), row, strict=True)) for row in rows]


FUNCTIONS = (
    TableFunction(
        "policy_review",
        ("tbl",),
        (),
        "Lists what a release of a table publishes unchanged, transforms, generalizes and withholds, how many records "
        "and persons are unique by its unchanged columns, flat hierarchies and errors, with statements that change "
        "these.",
        handler=policy_review_sql,
        example=Example("SELECT * FROM policy_review('patients');"),
    ),
)

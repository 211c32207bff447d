"""Group the quasi-identifiers of wide tables, whose statements have rows of columns in place of one join per column."""

from collections.abc import Sequence
from dataclasses import replace

from dbanon.release.plan.number_column import NumberColumn
from dbanon.release.plan.template_columns import QuasiColumn
from dbanon.sqltext.quote import Sql

MAX_JOINED_COLUMNS = 20
"""With more quasi-identifiers than this, a statement has relations with one row per column in place of joins.

Rows of columns save planning, which grows faster than the number of columns, and cost about 0.7 microseconds more per
value of the table. For 20 columns the two are equal at 60,000 records.
"""


def number_blocks(columns: Sequence[QuasiColumn]) -> list[list[NumberColumn]]:
    """Return the numbers among the quasi-identifiers, grouped by equal type and settings, each group in their order."""
    groups: list[tuple[NumberColumn, list[NumberColumn]]] = []
    for column in columns:
        if not isinstance(column, NumberColumn):
            continue
        settings = replace(column, i=0, raw_name="", say={}, value=Sql(""))
        block = next((members for shared, members in groups if shared == settings), None)
        if block is None:
            groups.append((settings, [column]))
        else:
            block.append(column)
    return [members for _, members in groups]

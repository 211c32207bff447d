"""The picture of the README: one equivalence class of the demo database, in the source and in the release.

`python -m tests.support.generated` draws it again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

from dbanon.api import demo
from dbanon.api.connection import Connection

PATH = Path(__file__).resolve().parents[2] / "docs" / "images" / "release.svg"
SOURCE_STATEMENT = "FROM patients"
RELEASE_STATEMENT = "FROM best('patients', k=10)"
COLUMN_CHARACTERS = {
    "name": 16,
    "birth_date": 14,
    "sex": 4,
    "zip": 6,
    "marital_status": 19,
    "occupation": 16,
    "disease": 22,
}
QUASI_IDENTIFIERS = ("birth_date", "sex", "zip", "marital_status", "occupation")
CHARACTER_PX, LINE_PX, MARGIN_PX = 8, 19, 20

_CLASSES = """
    CREATE TEMP TABLE released AS FROM best('patients', k=10);
    CREATE TEMP TABLE chosen AS
    SELECT class_id
    FROM released
    GROUP BY ALL
    HAVING count(*) = 10 AND any_value(zip) SIMILAR TO '\\d{4}\\*' AND count(DISTINCT disease) >= 8
    ORDER BY any_value(year(upper_date(birth_date)) - year(lower_date(birth_date))), class_id
    LIMIT 1;
"""
_RELEASED_ROWS = """
    SELECT NULL AS name, birth_date, sex, zip, marital_status, occupation, disease
    FROM released
    SEMI JOIN chosen USING (class_id)
    ORDER BY disease
"""
_SOURCE_ROWS = """
    SELECT p.name, p.birth_date, p.sex, p.zip, p.marital_status, p.occupation, p.disease
    FROM patients AS p
    JOIN (SELECT DISTINCT ON (class_id) * FROM released SEMI JOIN chosen USING (class_id)) AS c
        ON covers(c.birth_date, p.birth_date)
        AND covers(c.sex, p.sex)
        AND covers(c.zip, p.zip)
        AND covers(c.marital_status, p.marital_status, 'adult_marital_status')
        AND covers(c.occupation, p.occupation, 'adult_occupation')
    ORDER BY p.disease, p.birth_date, p.name
"""

_STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #24292f; white-space: pre; }
.card { fill: #ffffff; stroke: #d0d7de; }
.band { fill: #ddf4ff; }
.head { fill: #57606a; }
.note { fill: #57606a; font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; }
.statement { font-weight: bold; }
.quasi { fill: #0550ae; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .card { fill: #0d1117; stroke: #3d444d; }
  .band { fill: #12263f; }
  .head, .note { fill: #9198a1; }
  .quasi { fill: #79c0ff; }
}
"""


def draw(con: Connection) -> str:
    """Return the picture as SVG, from a connection to the demo database.

    It shows a class of ten records whose published values fit ten records of the source and no others.
    """
    con.execute(_CLASSES)
    source_rows = con.execute(_SOURCE_ROWS).fetchall()
    released_rows = con.execute(_RELEASED_ROWS).fetchall()
    con.execute("DROP TABLE released; DROP TABLE chosen")
    if [row[-1] for row in source_rows] != [row[-1] for row in released_rows]:
        raise ValueError("the published values of this class also fit other records: choose another class")
    columns = list(COLUMN_CHARACTERS)
    source_table, height = _table(SOURCE_STATEMENT, "ten of the 20,000 patients", columns, source_rows, 0)
    released_table, height = _table(
        RELEASE_STATEMENT,
        "the same ten patients: equal in every blue column",
        columns,
        [("", *row[1:]) for row in released_rows],
        height,
    )
    width = 2 * MARGIN_PX + CHARACTER_PX * sum(COLUMN_CHARACTERS.values())
    title = "Ten patients of the demo database, and how best('patients', k=10) publishes them"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-labelledby="title">',
            f'<title id="title">{escape(title)}</title>',
            f"<style>{_STYLE}</style>",
            f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *source_table,
            *released_table,
            "</svg>\n",
        ]
    )


def _table(
    statement: str, note: str, columns: Sequence[str], rows: Sequence[Sequence[object]], top: int
) -> tuple[list[str], int]:
    """Return the lines of one table, and the ordinate below it."""
    positions, x = {}, MARGIN_PX
    for column, characters in COLUMN_CHARACTERS.items():
        positions[column] = x
        x += characters * CHARACTER_PX
    left, right = positions[QUASI_IDENTIFIERS[0]] - 6, positions["disease"] - 8
    y = top + MARGIN_PX + 12
    band_height = (len(rows) + 1) * LINE_PX + 8
    lines = [
        f'<text class="statement" x="{MARGIN_PX}" y="{y}">{escape(statement)}</text>',
        f'<text class="note" x="{x}" y="{y}" text-anchor="end">{escape(note)}</text>',
        f'<rect class="band" x="{left}" y="{y + 12}" width="{right - left}" height="{band_height}" rx="4"/>',
    ]
    y += LINE_PX + 10
    lines += [
        f'<text class="head" x="{positions[column]}" y="{y}">{column}</text>'
        for column in columns
        if column != "name" or rows[0][0]
    ]
    for row in rows:
        y += LINE_PX
        for column, cell in zip(columns, row, strict=True):
            if cell:
                kind = ' class="quasi"' if column in QUASI_IDENTIFIERS else ""
                lines.append(f'<text{kind} x="{positions[column]}" y="{y}">{escape(str(cell))}</text>')
    return lines, y + MARGIN_PX + 6


def write() -> None:
    """Draw the picture from a new demo database and write it to its file."""
    with tempfile.TemporaryDirectory() as folder, demo.create_demo(Path(folder) / "demo.duckdb") as con:
        PATH.write_text(draw(con), encoding="utf-8")


if __name__ == "__main__":
    write()

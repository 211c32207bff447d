"""Find the SQL files and the built-in hierarchies, in an installed wheel or in a checkout."""

import re
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Return the folder `sql` or `hierarchies`: inside the installed package, or next to the package in a checkout.

    FileNotFoundError if neither exists.
    """
    for base in (_PACKAGE, _PACKAGE.parent):
        if (base / name).is_dir():
            return base / name
    raise FileNotFoundError(f"dbanon is installed without its folder '{name}'; reinstall it")


_CONTINUATION = re.compile(r"\\\n *")


@cache
def sql(path: str) -> str:
    """Return the text of a SQL file by its path below sql/, such as `release/metrics/precision.sql`. Cached.

    A line that ends with a backslash goes on in the next one (`join_lines`).
    """
    return join_lines((folder("sql") / path).read_text(encoding="utf-8"))


def join_lines(text: str) -> str:
    """Return a text in which a line that ends with a backslash goes on in the next line, whose indentation is removed.

    So a long line of a template is written as several lines, and is one line of the statement.

    >>> join_lines("SELECT 1 " + chr(92) + chr(10) + "    AS one")
    'SELECT 1 AS one'
    """
    return _CONTINUATION.sub("", text)


@cache
def sql_names(subfolder: str) -> tuple[str, ...]:
    """Return the sorted names, without `.sql`, of the SQL files directly in a subfolder of sql/. Cached."""
    return tuple(sorted(p.stem for p in (folder("sql") / subfolder).glob("*.sql")))


@cache
def shipped_hierarchies() -> tuple[str, ...]:
    """Return the sorted names of the built-in hierarchies: the CSV files in the folder `hierarchies`. Cached."""
    return tuple(sorted(p.stem for p in folder("hierarchies").glob("*.csv")))

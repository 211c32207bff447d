"""Find the SQL files and the built-in hierarchies, in an installed wheel or in a checkout."""

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """Return the folder `sql` or `hierarchies`: inside the wheel, or next to the package in a checkout."""
    for base in (_PACKAGE, _PACKAGE.parent):
        if (base / name).is_dir():
            return base / name
    raise FileNotFoundError(f"dbanon is installed without its folder '{name}'; reinstall it")


@cache
def sql(path: str) -> str:
    """Return the text of one SQL file, such as `release/plan/release.sql` or `release/metrics/precision.sql`."""
    return (folder("sql") / path).read_text(encoding="utf-8")


@cache
def sql_names(subfolder: str) -> tuple[str, ...]:
    """Return the sorted names of the SQL files of a subfolder, without their ending."""
    return tuple(sorted(p.stem for p in (folder("sql") / subfolder).glob("*.sql")))


@cache
def shipped_hierarchies() -> tuple[str, ...]:
    """Return the sorted names of the built-in hierarchies."""
    return tuple(sorted(p.stem for p in folder("hierarchies").glob("*.csv")))
